"""The latest run is found while another one is being removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.farm.runs import latest_run


def test_a_run_that_is_removed_after_it_was_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("first", "second", "going")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").touch()
        os.utime(tmp_path / name / "plan.json", (number, number))
    listed = Path.glob

    def remove_meanwhile(folder: Path, pattern: str) -> list[Path]:
        found = list(listed(folder, pattern))
        (tmp_path / "going" / "plan.json").unlink()
        return found

    monkeypatch.setattr(Path, "glob", remove_meanwhile)
    assert latest_run(tmp_path) == tmp_path / "second"
