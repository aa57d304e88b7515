"""Files are written whole; what a killed process left of one is removed by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from orchestrator.files import remove_unfinished, write_atomically


def test_what_a_killed_process_left_of_writing_is_removed(tmp_path: Path) -> None:
    """And nothing else, whatever it is called."""
    unfinished: list[str] = []

    def parts() -> Iterator[bytes]:
        unfinished.extend(os.listdir(tmp_path))
        yield b"whole"

    write_atomically(tmp_path / "plan.json", parts())
    (tmp_path / unfinished[0]).write_text("half")
    kept = [tmp_path / name for name in (".new", ".mine.new", "a.1.new", "plan.json")]
    for path in kept:
        path.touch()
    remove_unfinished(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)
