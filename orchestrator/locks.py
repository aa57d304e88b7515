"""Exclusive file locks between processes; a lock ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Self

from .errors import EmufarmError

_POLL_S = 0.05
FileLock = BinaryIO  # held until it is closed: by `close`, a `with` block, or the process's end


class LockHeld(EmufarmError):
    """Another process holds the lock."""


def try_lock(path: Path, *, create: bool = True) -> FileLock:
    """LockHeld where another process has it; OSError where the file cannot be opened or made."""
    file = path.open("ab" if create else "r+b")
    try:
        _lock(file.fileno(), path)
    except BaseException:
        file.close()
        raise
    return file


def try_lock_folder(path: Path) -> FolderLock:
    """As `try_lock`, without a file of its own."""
    lock = FolderLock(path)
    try:
        _lock(lock.number, path)
    except BaseException:
        lock.close()
        raise
    return lock


def _lock(number: int, path: Path) -> None:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LockHeld(f"another process holds {path}") from error


class FolderLock:
    """Held until it is closed, or its process ends."""

    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        os.close(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wait_lock(path: Path, seconds: float, on_wait: Callable[[], None] = lambda: None) -> FileLock:
    """Waits for the lock; `on_wait` is called once where another process has it. LockHeld after
    so many seconds; OSError as for `try_lock`."""
    until, waiting = time.monotonic() + seconds, False
    while True:
        try:
            return try_lock(path)
        except LockHeld as error:
            if time.monotonic() > until:
                raise LockHeld(f"another process held {path} for {seconds:g} s") from error
        if not waiting:
            on_wait()
            waiting = True
        time.sleep(_POLL_S)
