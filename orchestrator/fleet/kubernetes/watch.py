"""Watches the Pods of a run: one list and one stream for all of them.

What the stream says is only believed until the next list, so nothing is missed for long: a silent
stream, a version that the server forgot or a server that was away end in a new list.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import suppress

from ...events.notify import Notify
from .api import PODS, ClusterAway, ClusterRefused, Json, KubernetesApi

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0  # before a new list, doubled each time
GONE = 410  # the status for a version that the server has forgotten
STEADY_S = 10.0  # a stream that lasted so long was a good one


class PodWatch:
    def __init__(self, api: KubernetesApi, selector: str, notify: Notify) -> None:
        self._api = api
        self._selector = selector
        self._notify = notify
        self._pods: dict[str, Json] = {}
        self._changes: dict[str, asyncio.Event] = {}  # of those that somebody waits for
        self._answers = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        pause, told = FIRST_PAUSE_S, ""
        while True:
            since = time.monotonic()
            try:
                version = await self._relist()
                async for event in self._api.watch(PODS, self._selector, version):
                    self._apply(event)
            except (ClusterAway, ClusterRefused) as error:
                forgotten = isinstance(error, ClusterRefused) and error.status == GONE
                if not forgotten and str(error) != told:
                    told = str(error)
                    self._notify(f"devices work on, but cannot be watched: {error}")
                if not forgotten:
                    self._answers.clear()
            if time.monotonic() - since > STEADY_S:
                pause, told = FIRST_PAUSE_S, ""
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def answers(self) -> None:
        """Waits until the API server answers."""
        await self._answers.wait()

    def add(self, pod: Json) -> None:
        """One that was just made; a list that is under way may not have it."""
        self._pods.setdefault(pod["metadata"]["name"], pod)

    def pod(self, name: str) -> Json | None:
        """Its last known state; None where there is none of this name."""
        return self._pods.get(name)

    def names(self, labels: Mapping[str, str]) -> list[str]:
        """Of the known ones with these labels."""
        found = ((name, pod["metadata"].get("labels") or {}) for name, pod in self._pods.items())
        return [name for name, its in found if labels.items() <= its.items()]

    async def changed(self, name: str, seen: Json | None, seconds: float) -> Json | None:
        """Its state, once it is another than `seen`; at the latest after this time."""
        if self._pods.get(name) is seen:
            change = self._changes.setdefault(name, asyncio.Event())
            with suppress(TimeoutError):
                async with asyncio.timeout(max(seconds, 0.0)):
                    await change.wait()
        return self._pods.get(name)

    async def _relist(self) -> str:
        before = set(self._pods)
        found, version = await self._api.listed(PODS, self._selector)
        now = {pod["metadata"]["name"]: pod for pod in found}
        for name in before - set(now):
            self._set(name, None)
        for name, pod in now.items():
            known = self._pods.get(name)
            if known is None or _version(known) != _version(pod):
                self._set(name, pod)
        self._answers.set()
        return version

    def _apply(self, event: Json) -> None:
        pod = event["object"]
        if event["type"] in ("ADDED", "MODIFIED"):
            self._set(pod["metadata"]["name"], pod)
        elif event["type"] == "DELETED":
            self._set(pod["metadata"]["name"], None)

    def _set(self, name: str, pod: Json | None) -> None:
        """And wakes those who wait for this one, of perhaps thousands."""
        if pod is None:
            self._pods.pop(name, None)
        else:
            self._pods[name] = pod
        if change := self._changes.pop(name, None):
            change.set()


def _version(pod: Json) -> str:
    return str(pod["metadata"].get("resourceVersion"))
