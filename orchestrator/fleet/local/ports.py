"""Console and adb ports of local phones, claimed with lock files among all farms on this machine.

A user's own adb server probes the odd ports 5555-5585 when it starts, and would adopt a phone that
it finds there, so ours are above. A claim is a locked file: it ends with the process that holds it,
however that ends. The files are in one folder for all of a user's farms, whatever their
environment: TMPDIR differs from run to run, and XDG_RUNTIME_DIR is there at a desk and not under
cron or sudo. Farms of two users share no file. A port in use is not claimed, so between two users
only the moment between a claim and the phone that listens on it is unprotected.
"""

from __future__ import annotations

import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from ...errors import UsageError
from ...locks import FileLock, LockHeld, try_lock

FIRST, LAST = 5586, 5682
MOST_PHONES = (LAST - FIRST) // 2 + 1
FOLDER = Path("/tmp") / f"emufarm-ports-{os.getuid()}"
# Below the range from which the kernel takes a port for every outgoing connection.
_SERVER_OFFSET = 10_000


@dataclass(frozen=True)
class PortClaim:
    """A console port that is ours until released; the adb port is the one after it."""

    port: int
    lock: FileLock

    @property
    def server_port(self) -> int:
        """For a private adb server, claimed with the console port."""
        return _server_port(self.port)

    def release(self) -> None:
        self.lock.close()


def claim(wanted: int | None = None) -> PortClaim:
    """This port, or the first one that nobody uses; UsageError where there is none."""
    for port in (wanted,) if wanted is not None else range(FIRST, LAST + 1, 2):
        if port % 2 or not 1024 <= port < 65535:
            raise UsageError(f"console port {port}: choose an even number from 1024 to 65534")
        lock = _lock(port)
        if lock is None:
            continue
        if all(_free(each) for each in (port, port + 1, _server_port(port))):
            return PortClaim(port, lock)
        lock.close()
    if wanted is not None:
        held = f"{wanted}, {wanted + 1} or {_server_port(wanted)}"
        raise UsageError(f"port {held} is in use: choose another --port")
    raise UsageError(f"no free pair of ports from {FIRST} to {LAST}: stop some phones first")


def _server_port(port: int) -> int:
    return port + _SERVER_OFFSET if port + _SERVER_OFFSET < 65536 else port - _SERVER_OFFSET


def _free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def _lock(port: int) -> FileLock | None:
    """None where another process has it."""
    try:
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        found = FOLDER.lstat()
        # Anybody may write to /tmp: a folder or link that another user left is not ours.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError("it belongs to somebody else")
        return try_lock(FOLDER / str(port))
    except LockHeld:
        return None
    except OSError as error:
        raise UsageError(f"cannot hold ports in {FOLDER}: {error}; remove it") from error
