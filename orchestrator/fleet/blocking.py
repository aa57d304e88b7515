"""Runs a blocking call in a thread and waits for its end, even if the waiter is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def finish(call: Callable[[], T], threads: Executor | None = None) -> T:
    """The call's result; it runs in one of these threads, or in one of the loop's own.

    A thread cannot be stopped, so the call must end by itself: a cancellation that comes meanwhile
    is raised once it has.
    """
    done = asyncio.get_running_loop().run_in_executor(threads, call)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait({done})
        raise
