"""Which console port a local phone may take, held against every other farm on this machine.

A user's own adb server probes the odd ports 5555-5585 when it starts, and would adopt a phone
it finds there; so ours stand above. A claim is a locked file: it ends with the process that
holds it, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError

FIRST, LAST = 5586, 5682


@dataclass(frozen=True)
class Claim:
    """A console port that is ours until released; the adb port is the one after it."""

    port: int
    descriptor: int

    def release(self) -> None:
        with suppress(OSError):  # released already
            os.close(self.descriptor)


def _free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def _lock(port: int) -> int | None:
    folder = Path(tempfile.gettempdir()) / f"emufarm-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def claim(wanted: int | None = None) -> Claim:
    """This port, or the first one that nobody uses."""
    for port in (wanted,) if wanted is not None else range(FIRST, LAST + 1, 2):
        if port % 2 or not 1024 <= port < 65535:
            raise UsageError(f"console port {port}: choose an even number from 1024 to 65534")
        descriptor = _lock(port)
        if descriptor is None:
            continue
        if _free(port) and _free(port + 1):
            return Claim(port, descriptor)
        os.close(descriptor)
    if wanted is not None:
        raise UsageError(f"port {wanted} or {wanted + 1} is in use: choose another --port")
    raise UsageError(f"no free pair of ports from {FIRST} to {LAST}: stop some phones first")


def free_port() -> int:
    """An unprivileged port for a private server; the caller binds it at once."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
