"""Serves /metrics on a port of its own, which needs no secret and tells none.

Until a run is open it answers 503: the counts of half a journal would look like counters that went
down. A coordinator that has stopped, or whose disk is full, is scraped as before.
"""

from __future__ import annotations

import asyncio
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
        self._scraped = asyncio.Event()  # replaced whenever it is set

    def show(self, metrics: RunMetrics) -> None:
        self._metrics = metrics
        self._registry = registered(metrics)

    async def answer(self, request: Request) -> Response:
        if self._metrics is None or self._metrics.state is None:
            return refusal(503, "the run is not open yet")
        body, content_type = exposition(self._registry, request.headers.get("accept", ""))
        self._scrapes += 1
        self._scraped.set()
        return Response(body, headers={"content-type": content_type})

    async def linger(self, seconds: float) -> None:
        """The run has ended: returns after two further scrapes, at the latest after this time."""
        if self._metrics is None:
            return
        self._metrics.over = True
        until = self._scrapes + LAST_SCRAPES
        try:
            async with asyncio.timeout(seconds):
                while self._scrapes < until:
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
