"""Which of a run's containers have ended, and does the engine still answer?

One question a beat for all of them. Unlike a stream of events it misses nothing: an engine that
was restarted is simply asked again.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Executor

from ..slot import Hopeless
from . import containers
from .engine import Engine, EngineAway, EngineRefused

BEAT_S = 0.5
AWAY_S = 60.0  # an engine may be restarted, by a person or an update


class Watch:
    def __init__(
        self, engine: Engine, label: str, threads: Executor, away_s: float = AWAY_S
    ) -> None:
        self._engine = engine  # one that gives up sooner than the pairs' own
        self._label = label
        self._threads = threads
        self._away_s = away_s
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._answers = asyncio.Event()
        self._answers.set()
        self.lost = asyncio.Event()  # it did not answer for so long that nobody waits any longer
        self.outage = ""  # in words, while there is one

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
        asked = dict(self._waiting)  # what came later may not be on the engine's list yet
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, containers.find, self._engine, self._label
        )
        living = {one.id for one in found if not one.ended}
        for container, ended in asked.items():
            if container not in living:
                self._waiting.pop(container, None)
                if not ended.done():
                    ended.set_result(self.outage)

    def ended(self, container: str) -> asyncio.Future[str]:
        """Done once it has ended, or is gone; with the engine's outage, if it was in one."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return self._waiting.setdefault(container, future)

    def doubt(self) -> None:
        """Somebody got no answer: nobody asks anything before the next look got one."""
        self._answers.clear()

    async def answers(self) -> None:
        """Once the engine does; Hopeless where it is lost."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._answers, self.lost)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self.lost.is_set():
            raise Hopeless(self.outage)
