"""One emulator per AVD: who has it now.

The kernel's lock on multiinstance.lock decides, and dies with its process, so a file left by a
dead one is taken over. Both files carry the pid for whoever cleans up from outside.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class InUse(Exception):
    """Another emulator runs this AVD."""


class AvdLock:
    def __init__(self, folder: Path) -> None:
        self._pid_file = folder / "hardware-qemu.ini.lock"
        self._fd = os.open(
            folder / "multiinstance.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise InUse(str(folder)) from None
        pid = str(os.getpid()).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, pid, 0)
        self._pid_file.write_bytes(pid)

    def release(self) -> None:
        """multiinstance.lock stays, unlocked: removing it would race with the next emulator."""
        with suppress(FileNotFoundError):
            self._pid_file.unlink()
        os.ftruncate(self._fd, 0)
        os.close(self._fd)
