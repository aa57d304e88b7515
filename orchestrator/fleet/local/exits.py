"""When has a child process ended? Awaited by the kernel's own word, without polling or threads.

The child is left unreaped: its pid stays its own until whoever started it has looked.
"""

from __future__ import annotations

import asyncio
import os
import select


async def exited(pid: int) -> None:
    """Until it has ended."""
    descriptor = os.pidfd_open(pid)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def exited_within(pid: int, seconds: float) -> bool:
    """Whether it ended in time; blocks."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def as_shell(code: int) -> int:
    """Popen's exit code as a shell gives it: signal n is 128 + n."""
    return code if code >= 0 else 128 - code
