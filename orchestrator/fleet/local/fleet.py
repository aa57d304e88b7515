"""All pairs of a run on this machine: started together, watched, removed without a trace."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from ..fact import Fact
from ..lives import Lives
from ..slot import Slot
from .pair import LocalPair, Terms


class LocalFleet:
    """Runs while its block does. On exit workers give their leases back, then devices end.

    A killed fleet takes all of it along: each process holds the other end of a pipe to it.
    """

    def __init__(self, count: int, terms: Terms, on_fact: Callable[[Fact], None]) -> None:
        # Starting and ending a device block for a while; no slot waits for another's thread.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="device")
        self.slots = tuple(
            Slot(number, terms.bounds, self._pair, on_fact) for number in range(count)
        )
        self.agents = None  # in images: there are no containers here
        self._terms = terms
        self._lives = Lives(self.slots)

    async def _pair(self, slot: Slot) -> bool:
        return await LocalPair(slot, self._terms, self._threads).live()

    async def __aenter__(self) -> Self:
        for folder in (self._terms.staging, self._terms.logs):
            folder.mkdir(parents=True, exist_ok=True)
        self._lives.begin()
        return self

    async def ended(self) -> None:
        """Until every slot has finished or is given up; what nobody foresaw is raised."""
        await self._lives.ended()

    @property
    def given_up(self) -> bool:
        return self._lives.given_up

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self._lives.end(error)
        finally:
            self._threads.shutdown(wait=False)
