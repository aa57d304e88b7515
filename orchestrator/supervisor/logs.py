"""Cuts the logs of the supervisor's children when they grow too long.

The children append to files, so a file can be cut while they write to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT = 16 * 1024 * 1024
KEPT = 4 * 1024 * 1024
_CHECK_SECONDS = 5.0


async def keep_short(logs: Sequence[Path]) -> None:
    """Check the logs for as long as the supervisor lives."""
    while True:
        for log in logs:
            try:
                shorten(log)
            except OSError as error:  # reported once; the device matters more than its log
                print(f"supervisor: cannot cut {log}: {error}", file=sys.stderr, flush=True)
                return
        await asyncio.sleep(_CHECK_SECONDS)


def shorten(log: Path, limit: int = LIMIT, kept: int = KEPT) -> bool:
    """Cut a log that is past the limit to its last lines; whether it was cut.

    What a child writes between the read and the cut is lost. A pipe would avoid that, but the child
    would block if the supervisor were slow.
    """
    try:
        file = os.open(log, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return False
    with open(file, "r+b", buffering=0) as whole:
        size = os.fstat(file).st_size
        if size <= limit:
            return False
        tail = os.pread(file, kept, size - kept).partition(b"\n")[2]
        whole.truncate(0)
        whole.write(b"[cut: %d bytes stood before]\n" % (size - len(tail)) + tail)
    return True
