"""The folder of a run that is under way, while files in it come and go."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from orchestrator.report.verify.run_folder import scan

STAYS = ("plan.json", "journal/000001.jsonl", "episodes/e/attempt-1-c1/attempt.json")
GOES = ("staging/slot-00/attempt/token", "incoming/1/.attempt-2-c1.part/x")


@pytest.mark.parametrize(
    "gone",
    [
        *GOES,
        "staging/slot-00/attempt",
        "staging/slot-00",
        "incoming/1/.attempt-2-c1.part",
        "incoming/1",
    ],
)
@pytest.mark.parametrize("seen", [False, True], ids=["before it is seen", "once it was seen"])
def test_what_goes_after_it_was_listed_is_left_out(
    gone: str, seen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in STAYS + GOES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    lstat = Path.lstat

    def remove_meanwhile(path: Path) -> os.stat_result:
        status = lstat(path) if seen else None
        if path == tmp_path / gone:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return status or lstat(path)

    monkeypatch.setattr(Path, "lstat", remove_meanwhile)
    found = scan(tmp_path)
    assert "plan.json" in found.documents
    assert found.segments == ["journal/000001.jsonl"]
    assert found.bundles == {"episodes/e/attempt-1-c1": 1}
