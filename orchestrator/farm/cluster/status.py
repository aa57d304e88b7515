"""Keeps a run's FarmRun: writes its status and events, and reads what its spec asks for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Self

from ...errors import EmufarmError
from ...events.notify import Notify
from ...fleet.kubernetes import farm_run as objects
from ...fleet.kubernetes.api import EVENTS, ClusterAway, ClusterRefused, Json, KubernetesApi
from ...fleet.kubernetes.farm_run import FARM_RUNS, RunStanding
from ...fleet.kubernetes.watch import GONE

EVERY_S = 2.0  # between two writes, at least
AGAIN_S = 30.0  # then it is written even if nothing changed: a predecessor may have written too
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0
LAST_TRIES = 20  # of what is written at the end, a pause between two


class FarmRunKeeper:
    """`standing` and `view` are written as they change, at most every two seconds."""

    def __init__(self, api: KubernetesApi, farm_run: Json, notify: Notify) -> None:
        self._api = api
        self._farm_run = farm_run
        self._name = str(farm_run["metadata"]["name"])
        self._notify = notify
        self._written: Json = dict(farm_run.get("status") or {})
        self._tasks: set[asyncio.Task[None]] = set()
        self._events: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()  # else an older status could come last, and stay
        self._generation = int(farm_run["metadata"].get("generation") or 0)  # that was read last
        self.standing = objects.ended_standing(farm_run) or RunStanding()
        self.view: Callable[[], Mapping[str, Any]] | None = None

    async def __aenter__(self) -> Self:
        self._start(self._tasks, self._write_often())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._events:
            await asyncio.wait(self._events, timeout=LONGEST_PAUSE_S)
        ending = [*self._tasks, *self._events]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def follow_spec(self, on_spec: Callable[[Mapping[str, Any]], None]) -> None:
        """Calls it with the spec, now and at every change."""
        self._start(self._tasks, self._follow(on_spec))

    def event(self, reason: str, message: str, *, warning: bool = True) -> None:
        """An event of the FarmRun; one that cannot be written is only notified."""
        self._start(self._events, self._send_event(reason, message, warning))

    async def stand(self, standing: RunStanding) -> None:
        """Writes it before it returns, if the API server answers within some minutes."""
        self.standing = standing
        pause = FIRST_PAUSE_S
        for _ in range(LAST_TRIES):
            try:
                await self._write()
                return
            except ClusterAway:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except ClusterRefused as error:
                self._notify(f"the FarmRun's status cannot be written: {error}")
                return
        self._notify(f"the FarmRun's status cannot be written: no answer; it is {standing.phase}")

    async def _write_often(self) -> None:
        loop = asyncio.get_running_loop()
        last = refused = 0.0
        while True:
            again = loop.time() - last > AGAIN_S
            try:
                if again or self._body() != self._written:
                    await self._write()
                    last = loop.time()
            except ClusterAway:
                pass  # the fleet's watch says so
            except ClusterRefused as error:
                if loop.time() - refused > AGAIN_S:
                    refused = loop.time()
                    self._notify(f"the FarmRun's status cannot be written: {error}")
            await asyncio.sleep(EVERY_S)

    async def _write(self) -> None:
        async with self._writing:
            body = self._body()
            await self._api.patch(FARM_RUNS, self._name, {"status": body}, "status")
            self._written = body

    def _body(self) -> Json:
        view = self.view() if self.view is not None else None
        return objects.status(
            self._name, self.standing, view, self._written, objects.timestamp(), self._generation
        )

    async def _follow(self, on_spec: Callable[[Mapping[str, Any]], None]) -> None:
        own, pause, told = f"metadata.name={self._name}", FIRST_PAUSE_S, ""

        def read(farm_run: Json) -> None:
            self._generation = int(farm_run["metadata"].get("generation") or 0)
            on_spec(farm_run["spec"])

        while True:
            try:
                found, version = await self._api.listed(FARM_RUNS, "", own)
                for one in found:
                    read(one)
                async for event in self._api.watch(FARM_RUNS, "", version, own):
                    if event["type"] in ("ADDED", "MODIFIED"):
                        read(event["object"])
                pause, told = FIRST_PAUSE_S, ""
            except ClusterAway:  # the fleet's watch says so
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except ClusterRefused as error:
                if error.status != GONE and str(error) != told:
                    told = str(error)
                    self._notify(f"scale and cancel of the FarmRun may not be seen: {error}")
                pause = min(2 * pause, LONGEST_PAUSE_S)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _send_event(self, reason: str, message: str, warning: bool) -> None:
        body = objects.event(self._farm_run, reason, message, warning=warning)
        try:
            await self._api.create(EVENTS, body)
        except EmufarmError as error:
            self._notify(f"an event cannot be written ({reason}: {message}): {error}")

    def _start(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if not task.cancelled() and (error := task.exception()):
                self._notify(f"the FarmRun is not kept up to date any more: {error!r}")

        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(ended)
