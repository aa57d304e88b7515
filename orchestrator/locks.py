"""Exclusive file locks between processes; a lock ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Self

from .errors import EmufarmError

_POLL_S = 0.05


class LockHeld(EmufarmError):
    """Another process holds the lock."""


class FileLock:
    """A held lock. It is released by `release`, at the end of a `with` block, or by the kernel
    when the process ends."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()

    def release(self) -> None:
        """A second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def try_lock(path: Path, *, create: bool = True) -> FileLock:
    """LockHeld where another process has it; OSError where the file cannot be opened or made."""
    file = path.open("ab" if create else "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise LockHeld(f"another process holds {path}") from error
    except BaseException:
        file.close()
        raise
    return FileLock(file)


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
