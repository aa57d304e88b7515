"""How is something that blocks waited for, when whoever waits may be told to go?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def whole(call: Callable[[], T], threads: Executor | None = None) -> T:
    """Its result, from a thread: one of these, else of the loop's own. It cannot be stopped there,
    and is bounded by itself: whoever is cancelled meanwhile hears so once it has ended."""
    done = asyncio.get_running_loop().run_in_executor(threads, call)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait({done})
        raise
