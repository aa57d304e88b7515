"""Watches a run's containers end, and whether the engine answers, by listing them regularly.

One list for all containers. Unlike a stream of events it misses nothing: an engine that was
restarted is simply asked again.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Executor

from ..slot import NoMorePairs
from . import containers
from .engine import Engine, EngineAway, EngineRefused

BEAT_S = 0.5
AWAY_S = 60.0  # an engine may be restarted, by a person or an update


class Watch:
    def __init__(
        self, engine: Engine, label: str, threads: Executor, away_s: float = AWAY_S
    ) -> None:
        self._engine = engine  # with a shorter time limit than the pairs' own
        self._label = label
        self._threads = threads
        self._away_s = away_s
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._answers = asyncio.Event()
        self._answers.set()
        self.lost = asyncio.Event()  # it did not answer within the time that pairs wait
        self.outage = ""  # a description, while there is one

    async def run(self) -> None:
        """Until it is cancelled, or the engine is lost."""
        since: float | None = None
        while not self.lost.is_set():
            try:
                await self._look()
                since, self.outage = None, ""
                self._answers.set()
            except (EngineAway, EngineRefused) as error:
                self._answers.clear()
                since = since or time.monotonic()
                away = time.monotonic() - since
                self.outage = f"the engine did not answer for {away:.0f} s ({error})"
                if away > self._away_s:
                    self.lost.set()
            await asyncio.sleep(BEAT_S)

    async def _look(self) -> None:
        waiting = dict(self._waiting)  # what comes later may not be on the engine's list yet
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, containers.find, self._engine, self._label
        )
        living = {one.id for one in found if not one.ended}
        for container, ended in waiting.items():
            if container not in living:
                self._waiting.pop(container, None)
                if not ended.done():
                    ended.set_result(self.outage)

    def ended(self, container: str) -> asyncio.Future[str]:
        """Done once it has ended or is gone; its result describes an outage of the engine in which
        that happened, else it is empty."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return self._waiting.setdefault(container, future)

    def doubt(self) -> None:
        """A call got no answer: `answers` waits for the next successful list."""
        self._answers.clear()

    async def answers(self) -> None:
        """Waits until the engine answers; NoMorePairs where it is lost."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._answers, self.lost)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self.lost.is_set():
            raise NoMorePairs(self.outage)
