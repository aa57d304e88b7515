"""All pairs of a run on this machine: started together, watched, removed without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from .fact import Fact
from .pair import Slot, Terms


class LocalFleet:
    """Runs while its block does. On exit workers give their leases back, then devices end.

    A killed fleet takes all of it along: each process holds the other end of a pipe to it.
    """

    def __init__(self, count: int, terms: Terms, on_fact: Callable[[Fact], None]) -> None:
        # Starting and ending a device block for a while; no slot waits for another's thread.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="device")
        self.slots = tuple(Slot(number, terms, on_fact, self._threads) for number in range(count))
        self._terms = terms
        self._lives: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for folder in (self._terms.staging, self._terms.logs):
            folder.mkdir(parents=True, exist_ok=True)
        self._lives = [asyncio.create_task(slot.live(), name=slot.name) for slot in self.slots]
        return self

    async def ended(self) -> None:
        """Until every slot has finished or is given up; what nobody foresaw is raised."""
        # Not gathered: a cancelled caller must not cut short what the block's end does in order.
        done, _ = await asyncio.wait(self._lives, return_when=asyncio.FIRST_EXCEPTION)
        for life in done:
            life.result()

    @property
    def given_up(self) -> bool:
        """No slot is left that could ever run an episode."""
        return all(slot.state == "given_up" for slot in self.slots)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for life in self._lives:
            life.cancel()
        try:
            ends = await asyncio.gather(*self._lives, return_exceptions=True)
        finally:
            self._threads.shutdown(wait=False)
        for end in ends:
            if isinstance(end, Exception) and error is None:
                raise end
