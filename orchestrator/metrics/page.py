"""Serves /metrics on a port of its own, which needs no secret and tells none.

Until a run is open it answers 503: the counts of half a journal would look like counters that went
down. A coordinator that has stopped, or whose disk is full, is scraped as before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..coordinator.http_server import make_starlette, refusal, serving
from .collector import exposition, registered
from .run_metrics import RunMetrics

PATH = "/metrics"
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
        body, content_type = exposition(self._registry, request.headers.get("accept", ""))
        self._scrapes += 1
        self._scraped.set()
        return Response(body, headers={"content-type": content_type})

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
