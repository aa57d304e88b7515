"""Watches the Pods of a run: one list and one stream for all of them.

What the stream says is only believed until the next list, so nothing is missed for long: a silent
stream, a version that the server forgot or a server that was away end in a new list.
"""

from __future__ import annotations

import asyncio
import random

from ...events.notify import Notify
from .api import PODS, ClusterAway, ClusterRefused, Json, KubernetesApi

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0  # after a failure, doubled each time


class PodWatch:
    def __init__(self, api: KubernetesApi, selector: str, notify: Notify) -> None:
        self._api = api
        self._selector = selector
        self._notify = notify
        self._pods: dict[str, Json] = {}
        self._change = asyncio.Event()  # replaced whenever it is set
        self._answers = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            try:
                version = await self._relist()
                pause = FIRST_PAUSE_S
                async for event in self._api.watch(PODS, self._selector, version):
                    self._apply(event)
            except (ClusterAway, ClusterRefused) as error:
                if isinstance(error, ClusterRefused) and error.status == 410:
                    continue  # too old a version: list again
                if self._answers.is_set():
                    self._notify(f"devices work on, but cannot be watched: {error}")
                self._answers.clear()
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE_S)

    async def answers(self) -> None:
        """Waits until the API server answers."""
        await self._answers.wait()

    def doubt(self) -> None:
        """A call got no answer: `answers` waits for the next successful list."""
        self._answers.clear()

    def add(self, pod: Json) -> None:
        """One that was just made; a list that is under way may not have it."""
        self._pods.setdefault(pod["metadata"]["name"], pod)

    def pod(self, name: str) -> Json | None:
        """Its last known state; None where there is none of this name."""
        return self._pods.get(name)

    async def changed(self, name: str, seen: Json | None, seconds: float) -> Json | None:
        """Its state, once it is another than `seen`; at the latest after this time."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._pods.get(name) is seen:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    await self._change.wait()
            except TimeoutError:
                break
        return self._pods.get(name)

    async def _relist(self) -> str:
        before = set(self._pods)
        found, version = await self._api.listed(PODS, self._selector)
        now = {pod["metadata"]["name"]: pod for pod in found}
        for name in before - set(now):
            del self._pods[name]
        self._pods.update(now)
        self._answers.set()
        self._tell()
        return version

    def _apply(self, event: Json) -> None:
        pod = event["object"]
        if event["type"] in ("ADDED", "MODIFIED"):
            self._pods[pod["metadata"]["name"]] = pod
        elif event["type"] == "DELETED":
            self._pods.pop(pod["metadata"]["name"], None)
        self._tell()

    def _tell(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
