"""Serves /metrics on a port of its own, which needs no secret and tells none.

Until a run is open it answers 503: the counts of half a journal would look like counters that went
down. So would those of a coordinator beside its successor's, whose series are the same: from the
next claim on it answers 503 too. One that has stopped, or whose disk is full, is scraped as before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..coordinator.claims import ClaimLost
from ..coordinator.http_server import make_starlette, refusal, serving
from .collector import exposition, registered
from .run_metrics import RunMetrics

PATH = "/metrics"
SCRAPE_HEADER = "x-prometheus-scrape-timeout-seconds"  # whoever scrapes sends it
LOOK_S = 1.0  # for a volume to say whether there is a later claim
LAST_SCRAPES = 2  # after the end; then no Prometheus misses the last counts
LINGER_S = 60.0  # for them, at most


class MetricsPage:
    """What is scraped; `show` says of which run."""

    def __init__(self) -> None:
        self._metrics: RunMetrics | None = None
        self._scrapes = 0
        self._enough = 0  # scrapes, once the run has ended
        self._ended_at: float | None = None
        self._scraped = asyncio.Event()  # replaced whenever it is set
        self._look: asyncio.Future[None] | None = None  # one at a time: a volume may not answer

    @property
    def shows(self) -> bool:
        return self._metrics is not None

    def show(self, metrics: RunMetrics) -> None:
        self._metrics = metrics
        self._registry = registered(metrics)

    def end(self) -> None:
        """The run has ended, however."""
        if self._metrics is not None and self._ended_at is None:
            self._metrics.over = True
            self._enough = self._scrapes + LAST_SCRAPES
            self._ended_at = time.monotonic()

    async def answer(self, request: Request) -> Response:
        if self._metrics is None or self._metrics.state is None:
            return refusal(503, "the run is not open yet")
        if await self._is_succeeded(self._metrics.check_claim):
            return refusal(503, "another coordinator has the run, and serves its metrics")
        body, content_type = exposition(self._registry, request.headers.get("accept", ""))
        if SCRAPE_HEADER in request.headers:  # and no person who looks
            self._scrapes += 1
            self._scraped.set()
        return Response(body, headers={"content-type": content_type})

    async def _is_succeeded(self, check: Callable[[], None]) -> bool:
        """Whether there is a later claim. No, where the volume does not say: then nobody writes."""
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(asyncio.to_thread(check))
        done, _ = await asyncio.wait([self._look], timeout=LOOK_S)
        return bool(done) and isinstance(self._look.exception(), ClaimLost)

    async def linger(self, seconds: float) -> None:
        """Returns once two scrapes came after the run's end, at the latest so long after it."""
        if self._ended_at is None:
            return
        try:
            async with asyncio.timeout(self._ended_at + seconds - time.monotonic()):
                while self._scrapes < self._enough:
                    self._scraped = asyncio.Event()
                    await self._scraped.wait()
        except TimeoutError:
            return

    @asynccontextmanager
    async def served(self, host: str, port: int) -> AsyncIterator[str]:
        """While its block runs; yields its URL. UsageError where the port is taken."""
        app = make_starlette([Route(PATH, self.answer, methods=["GET"])])
        async with serving(app, host, port) as url:
            yield url + PATH
