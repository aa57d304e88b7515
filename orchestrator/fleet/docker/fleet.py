"""All pairs of a run on a Docker engine: started together, watched, removed without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from ..fact import Fact
from ..lives import Lives
from ..slot import Slot
from .agents import DockerAgents
from .pair import DockerPair
from .terms import DockerTerms
from .watch import Watch

LOOK_S = 10  # for the engine to list a run's containers; longer than that, and it is away


class DockerFleet:
    """Runs while its block does. On exit workers give their leases back, then all containers go.

    What a killed fleet leaves is found by its labels: reaper.py.
    """

    def __init__(self, count: int, terms: DockerTerms, on_fact: Callable[[Fact], None]) -> None:
        # The engine's answers take a while: a thread for each slot's pair, its agent, the watch.
        self._threads = ThreadPoolExecutor(2 * count + 1, thread_name_prefix="docker")
        self._engine = terms.engine.impatient(LOOK_S)
        self._watch = Watch(self._engine, terms.owner.label, self._threads, terms.away_s)
        self.slots = tuple(
            Slot(number, terms.bounds, self._pair, on_fact) for number in range(count)
        )
        self.agents = (
            DockerAgents(terms.engine, self._engine, terms.owner, terms.agent, self._threads)
            if terms.agent
            else None
        )
        self._terms = terms
        self._lives = Lives(self.slots)
        self._watching: asyncio.Task[None] | None = None

    async def _pair(self, slot: Slot) -> bool:
        return await DockerPair(slot, self._terms, self._watch, self._threads).live()

    async def __aenter__(self) -> Self:
        self._terms.logs.mkdir(parents=True, exist_ok=True)
        self._watching = asyncio.create_task(self._watch.run(), name="watch")
        self._lives.begin()
        return self

    async def ended(self) -> None:
        """Until every slot has finished or is given up; what nobody foresaw is raised."""
        assert self._watching is not None
        lives = asyncio.ensure_future(self._lives.ended())
        try:
            await asyncio.wait({lives, self._watching}, return_when=asyncio.FIRST_COMPLETED)
            if self._watching.done():
                self._watching.result()  # it ends by itself where the engine is lost
            await lives
        finally:
            lives.cancel()

    @property
    def given_up(self) -> bool:
        return self._lives.given_up

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self._lives.end(error)
        finally:
            if self._watching is not None:
                self._watching.cancel()
            self._threads.shutdown(wait=False)
            self._engine.close()
