"""A lock has one holder at a time, and is free once its holder has ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.locks import LockHeld, try_lock, try_lock_folder, wait_lock

HOLDER = """
import sys
from pathlib import Path
from orchestrator.locks import try_lock
with try_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with try_lock(path), pytest.raises(LockHeld, match=str(path)):
        try_lock(path)
    try_lock(path).close()


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with another_holder(path), pytest.raises(LockHeld):
        try_lock(path)
    with try_lock(path):
        pass


def test_whoever_waits_is_told_once_and_gets_the_lock(tmp_path: Path) -> None:
    path, waits = tmp_path / "lock", []
    with another_holder(path) as holder:

        def end_the_holder() -> None:
            waits.append("waiting")
            holder.kill()

        with wait_lock(path, 60, end_the_holder), pytest.raises(LockHeld):
            try_lock(path)
    assert waits == ["waiting"]


def test_a_wait_has_an_end(tmp_path: Path) -> None:
    with try_lock(tmp_path / "lock"), pytest.raises(LockHeld, match=r"for 0\.1 s"):
        wait_lock(tmp_path / "lock", 0.1)


def test_a_lock_that_is_not_created_must_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        try_lock(tmp_path / "lock", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_locked_without_a_file_in_it(tmp_path: Path) -> None:
    with try_lock_folder(tmp_path), pytest.raises(LockHeld, match=str(tmp_path)):
        try_lock_folder(tmp_path)
    with try_lock_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []
