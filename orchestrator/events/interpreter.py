"""Settings of the interpreter: garbage collection while much is loaded, and in a busy server."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Allocations before a collection of the young, and how many of these before one of the older.
_RARELY = (20_000, 20, 20)
_SWITCH_S = 0.0005


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collections are a third of the time it takes to replay 100,000 episodes. Without the freeze,
    the first one would come right after, and would look at all of them."""
    if not gc.isenabled():  # inside another pause
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def serve_steadily() -> None:
    """For a process that only serves. With ten thousand connections a full collection takes 0.4 s,
    and the default is several in a minute; and an event loop that waits for threads, each of which
    may compute for 5 ms, answers late (bench/coordinator.py)."""
    gc.set_threshold(*_RARELY)
    sys.setswitchinterval(_SWITCH_S)
