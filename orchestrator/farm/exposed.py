"""Exposes a run's metrics: where they are served, what the run is, and how full its disk is."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .. import __version__
from ..agent.masking import COMMAND
from ..agent.spec import URLS
from ..errors import UsageError
from ..events.notify import Notify
from ..metrics.gauges import UNKNOWN_ROOM, VolumeRoom
from ..metrics.page import LINGER_S, MetricsPage
from ..metrics.run_metrics import RunMetrics
from ..plan.plan import Plan

LOOPBACK = "127.0.0.1"
HIGHEST_PORT = 65535
LOOK_S = 10.0  # between two looks at the disk


@dataclass(frozen=True)
class MetricsPort:
    """Where a command serves its run's metrics."""

    port: int  # of loopback; 0: a free one, which a notice names
    linger_s: float = LINGER_S  # after the run's end, unless two scrapes came before

    def require_free(self) -> None:
        """UsageError where it cannot be listened on; asked before anything is started."""
        if not 0 <= self.port <= HIGHEST_PORT:
            raise UsageError(f"--metrics-port {self.port} is no port: choose another")
        try:
            socket.create_server((LOOPBACK, self.port)).close()
        except OSError as error:
            raise UsageError(
                f"--metrics-port {self.port} cannot be listened on ({error.strerror}): "
                "choose another"
            ) from error


def run_metrics(name: str, plan: Plan, image: str, backend: str) -> RunMetrics:
    """Of a run with this name; `image` is the digest of its lock."""
    identity = {
        "run": name, "plan": plan.digest, "profile": plan.profile, "image": image,
        "agent": public_agent(plan.agent), "backend": backend, "version": __version__,
    }  # fmt: skip
    return RunMetrics.of(plan, identity)


def public_agent(spec: str) -> str:
    """An agent's spec without what may be a secret in it: a command's arguments, and all of a URL
    but its host."""
    if spec.startswith(COMMAND):
        words = spec.removeprefix(COMMAND).split()
        return COMMAND + Path(words[0]).name if words else COMMAND
    if spec.startswith(URLS):
        parts = urlsplit(spec)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return spec


@asynccontextmanager
async def exposing(
    metrics: RunMetrics, folder: Path, at: MetricsPort, asked: asyncio.Event, notify: Notify
) -> AsyncIterator[None]:
    """Serves them on loopback while its block runs, and a while longer where that ended by itself:
    until two scrapes came, the time has passed, or somebody asked the run to end."""
    page = MetricsPage()
    page.show(metrics)
    async with page.served(LOOPBACK, at.port) as url, looking_at_room(metrics, folder):
        notify(f"metrics: {url}")
        yield
        if not asked.is_set():
            page.end()
            notify(f"metrics: served for two scrapes more, at most {at.linger_s:g} s")
            await linger(page, at.linger_s, asked)


async def linger(page: MetricsPage, seconds: float, asked: asyncio.Event) -> None:
    """As the page does, but no longer than until somebody asks the process to end."""
    waits = [asyncio.ensure_future(each) for each in (page.linger(seconds), asked.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


@asynccontextmanager
async def looking_at_room(metrics: RunMetrics, folder: Path) -> AsyncIterator[None]:
    """Keeps `metrics.room` up to date: in a thread, since a network's volume may not answer."""

    async def look() -> None:
        while True:
            metrics.room = await asyncio.to_thread(volume_room, folder)
            await asyncio.sleep(LOOK_S)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()


def volume_room(folder: Path) -> VolumeRoom:
    """As `df` computes it: space that only root may use is not free."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return UNKNOWN_ROOM
    return VolumeRoom(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
