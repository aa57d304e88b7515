"""How long may the children's logs become?

They write to files that they opened for appending, so a file can be cut under them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT = 16 * 1024 * 1024
KEPT = 4 * 1024 * 1024
_LOOK_SECONDS = 5.0


async def keep_short(logs: Sequence[Path]) -> None:
    """Look at them for as long as the supervisor lives."""
    while True:
        for log in logs:
            try:
                shorten(log)
            except OSError as error:  # told once; a device is worth more than its log
                print(f"supervisor: cannot cut {log}: {error}", file=sys.stderr, flush=True)
                return
        await asyncio.sleep(_LOOK_SECONDS)


def shorten(log: Path, limit: int = LIMIT, kept: int = KEPT) -> bool:
    """Cut a log past the limit down to its last lines; whether it was.

    What a child writes between the reading and the cut is lost: the price of not being its pipe.
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
