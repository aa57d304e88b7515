"""A pair in a cluster: one Pod with a device and its worker, from its making to its end.

A worker that crashed is restarted in its Pod by the kubelet, and sends what it had sealed. When the
device ends, or the Pod goes, the Pod is removed and the slot makes another.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import EmufarmError
from ...events.notify import Notify
from ...files import write_atomically
from ...outcome import Cause
from ...worker.arguments import WorkerExit
from ..fact import FactKind
from ..slot import NoMorePairs, Slot
from . import names
from .agents import KubernetesAgents
from .api import PODS, SECRETS, ClusterAway, ClusterRefused, Json, KubernetesApi
from .nodes import NodeHistory, avoidance
from .pod_spec import PodSettings
from .pod_status import ContainerEnd, PodView, read_pod
from .staging import send_left
from .watch import PodWatch

REMOVE_S = 45.0  # a Pod's grace, and some more for the kubelet to report its end
NOTICE_S = 10.0  # a Pod that waits for longer is worth a sentence
SLOW_S = 60.0  # likewise one that simply starts: images may be large
START_LOOK_S = 2.0  # between two looks at a Pod that starts
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0  # before a Pod is made once more, doubled each time
LOOK_S = 30.0  # between two looks at a Pod that does not change
QUOTA_S = 2.0  # before the next try where the namespace's quota is used up
FORBIDDEN_S = 30.0  # for an API server that was just started to know its roles
BOOT_GRACE_S = 10.0  # the worker reports a slow boot itself; this is for a probe that never passes
MOST_CRASHES = 2  # of workers in one Pod: from then on the kubelet pauses before a restart
_LINES = 40
_GONE = ContainerEnd(Cause.REMOVED, None, "its Pod is gone: somebody deleted it")


@dataclass(frozen=True)
class PairContext:
    """What all pairs of a fleet share."""

    api: KubernetesApi
    watch: PodWatch
    settings: PodSettings
    nodes: NodeHistory
    logs: Path  # each failed Pod's whole status; kept
    notify: Notify
    seal_s: float  # for a worker to notice that its device is gone, and to send what it has
    pending_s: float  # for a Pod to get a node and its images, where no device is at work
    left: asyncio.Event  # set where pairs stay for a successor
    senders: ThreadPoolExecutor  # for what dead workers had sealed
    agents: KubernetesAgents | None = None  # where the run's agent comes in an image
    placed: dict[str, str] = field(default_factory=dict)  # device at work -> its node


class KubernetesPair:
    def __init__(self, slot: Slot, context: PairContext) -> None:
        self._slot = slot
        self._context = context
        self._api, self._watch = context.api, context.watch
        self._device = slot.device
        self._name = names.device_object(context.settings.run, slot.device)
        self._noticed = ""
        self._avoided: frozenset[str] = frozenset()  # the nodes that its Pod may not be on
        self._stays = False  # for a successor
        self._force = False  # its node does not answer: nobody will ever confirm its end

    async def run(self) -> bool:
        """True once the worker has left for good; False if the slot needs another pair."""
        if self._context.agents:
            self._context.agents.begin(self._device)
        try:
            pod = await self._adopt_or_make()
            return pod is not None and await self._keep(pod)
        except asyncio.CancelledError:
            self._stays = self._context.left.is_set()
            raise
        finally:
            self._context.placed.pop(self._device, None)
            if not self._stays:
                await self._remove()
                if self._context.agents:
                    await self._context.agents.end(self._device)
                await self._send_left()

    async def _adopt_or_make(self) -> Json | None:
        """Its Pod; None where one of this name is ending: the slot's next has another name."""
        since, pause = time.monotonic(), FIRST_PAUSE_S
        await self._watch.answers()
        while True:
            try:
                if pod := self._watch.pod(self._name) or await self._api.get(PODS, self._name):
                    self._watch.add(pod)
                    return pod if read_pod(pod).gone is None else None  # a predecessor's
                return await _whole(self._make())
            except ClusterAway:
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except ClusterRefused as error:
                if error.status == 409:  # made by a request whose answer was lost
                    continue
                if is_forbidden(error) and time.monotonic() - since < FORBIDDEN_S:
                    await asyncio.sleep(QUOTA_S)
                    continue
                if "exceeded quota" not in str(error):
                    self._report("device_not_started", Cause.CONFIG_ERROR, None, str(error))
                    raise NoMorePairs(str(error)) from error
                self._wait(ContainerEnd(Cause.UNSCHEDULABLE, None, str(error)), since)
                await asyncio.sleep(QUOTA_S)

    async def _make(self) -> Json:
        settings, device = self._context.settings, self._device
        self._avoided = self._context.nodes.avoided
        pod = settings.pod(device, self._avoided)
        try:
            await self._api.create(SECRETS, settings.secret(device, secrets.token_urlsafe(24)))
        except ClusterRefused as error:
            if error.status != 409:
                raise
        made = await self._api.create(PODS, pod)
        self._watch.add(made)
        return made

    async def _keep(self, pod: Json | None) -> bool:
        """Until the pair has ended."""
        first = read_pod(pod or {})  # a predecessor has reported what had ended before
        crashes, since, hurt = first.worker_ends, time.monotonic(), 0.0
        booting, taken = 0.0, False
        view = first
        while pod is not None:
            view, now = read_pod(pod), time.monotonic()
            wait_s = LOOK_S
            left = view.worker_end.left if view.worker_end and not view.worker_running else None
            if left == WorkerExit.ALL_DECIDED:
                return True
            device_lost = view.device_ends > first.device_ends
            taken = view.gone is not None and (taken or not device_lost)
            if view.gone or device_lost or left is not None:
                # Its worker seals what it has, sends it and leaves by itself.
                hurt = hurt or now
                wait_s = hurt + self._context.seal_s - now
                unreachable = view.gone is not None and view.gone.cause is Cause.NODE_LOST
                if not view.worker_running or unreachable or wait_s <= 0:
                    return await self._lost(pod, view, device_lost=device_lost and not taken)
            elif view.worker_ends > crashes:
                crashes = view.worker_ends
                await self._crashed(view)
                if self._slot.exhausted or crashes - first.worker_ends >= MOST_CRASHES:
                    return False
            elif view.waiting is not None:
                self._slot.state = "queued" if view.queued else "starting"
                since = now if view.queued else since
                booting = booting or (now if "device" in view.images else 0.0)
                self._check_start(view, since, booting)
                wait_s = START_LOOK_S
            else:
                self._slot.state = "running"
                self._context.placed[self._device] = view.node
            pod = await self._watch.changed(self._name, pod, wait_s)
        kind: FactKind = "device_lost" if view.waiting is None else "device_not_started"
        end = view.gone or _GONE
        await self._conclude(kind, end, end.text)
        return False

    def _check_start(self, view: PodView, since: float, booting: float) -> None:
        """NoMorePairs where waiting is in vain."""
        waiting = view.waiting
        assert waiting is not None
        wanted = self._context.settings.device_image.rpartition("@")[2]
        ran = view.images.get("device", wanted)
        if ran != wanted:
            text = f"pin_mismatch: the device's image is {ran}, and {wanted} was asked for"
            self._report("device_not_started", Cause.IMAGE_ERROR, None, text)
            raise NoMorePairs(text)
        if waiting.hopeless:
            self._report("device_not_started", waiting.cause, None, waiting.text)
            raise NoMorePairs(waiting.text)
        boot_s = self._context.settings.order.boot_s + BOOT_GRACE_S
        if booting and time.monotonic() - booting > boot_s and not view.device_started:
            text = f"the phone was not ready after {boot_s:.0f} s"
            self._report("device_not_started", Cause.START_TIMEOUT, None, text)
            raise StartFailed(text)
        if view.queued:
            return
        if waiting.cause is Cause.UNSCHEDULABLE and self._avoided:
            self._context.nodes.forget()
            raise StartFailed("no other node takes it: the avoided ones are tried again")
        if waiting.cause is not Cause.UNKNOWN or not booting or view.device_started:
            self._wait(ContainerEnd(waiting.cause, None, waiting.text), since)

    def _wait(self, why: ContainerEnd, since: float) -> None:
        """Say why, once; NoMorePairs where no device is at work and the time for that is over."""
        waited = time.monotonic() - since
        patience = SLOW_S if why.cause is Cause.UNKNOWN else NOTICE_S
        if waited > patience and why.text != self._noticed:
            self._noticed = why.text
            self._context.notify(f"{self._device} waits: {why.text}")
        if waited > self._context.pending_s and not self._context.placed:
            self._report("device_not_started", why.cause, None, why.text)
            raise NoMorePairs(f"{why.text} (for {waited:.0f} s, and no device is at work)")

    async def _crashed(self, view: PodView) -> None:
        assert view.worker_end is not None
        end = view.worker_end
        text = await self._with_log(end.text, "worker")
        self._report("worker_lost", end.cause, end.exit_code, text)

    async def _lost(self, pod: Json, view: PodView, *, device_lost: bool) -> bool:
        """Report it once its worker has left, or was stopped: what it seals until then counts.
        `device_lost`: before its Pod was told to go, which ends the device too."""
        end = ContainerEnd(Cause.UNUSABLE, None, "its worker found it unusable")
        if view.worker_end is not None and view.worker_end.left == WorkerExit.STOPPED:
            end = ContainerEnd(Cause.ASKED_TO_STOP, None, "somebody asked its worker to stop")
        if device_lost and view.device_end is not None:
            end = view.device_end
        orderly = end.cause is Cause.ASKED_TO_STOP or end.exit_code == 0
        if view.gone is not None and (not device_lost or orderly):
            end = view.gone
        started = view.waiting is None
        self._force = view.gone is not None and view.gone.cause is Cause.NODE_LOST
        # A dead node's kubelet has no log to give, and asking it takes long.
        text = end.text if self._force else await self._with_log(end.text, "device")
        await self._save(pod)
        await self._conclude("device_lost" if started else "device_not_started", end, text)
        if self._context.nodes.fault(view.node):
            self._context.notify(avoidance(view.node))
        if not started and view.waiting is not None and view.waiting.hopeless:
            raise NoMorePairs(text)
        return False

    async def _conclude(self, kind: FactKind, end: ContainerEnd, text: str) -> None:
        await self._remove()
        await self._send_left()
        self._report(kind, end.cause, end.exit_code or None, text)

    async def _send_left(self) -> None:
        """What it had sealed, where staging is on a shared volume. In threads of its own: a commit
        needs one of the loop's."""
        staging = self._context.settings.staging(self._device)
        send = partial(send_left, self._context.settings.order, staging, self._device)
        try:
            await asyncio.get_running_loop().run_in_executor(self._context.senders, send)
        except (EmufarmError, OSError) as error:
            self._context.notify(f"{self._device}: what it had sealed stays in {staging}: {error}")

    async def _with_log(self, text: str, container: str) -> str:
        log = await self._api.log_tail(self._name, container, _LINES, previous=True)
        log = log or await self._api.log_tail(self._name, container, _LINES)
        return f"{text}\n{log}".strip()

    async def _save(self, pod: Json) -> None:
        """Its whole status: the cluster forgets it with the Pod."""
        content = json.dumps({"spec": pod.get("spec"), "status": pod.get("status")}, indent=2)
        path = self._context.logs / f"{self._device}.pod.json"
        try:
            await asyncio.to_thread(write_atomically, path, [content.encode()])
        except OSError as error:
            self._context.notify(f"the status of {self._name} cannot be kept: {error}")

    def _report(self, kind: FactKind, cause: Cause, code: int | None, text: str) -> None:
        self._slot.report(kind, cause, code, text)

    async def _remove(self) -> None:
        """Nothing of it is left: asked first, then by force. A worker that is asked gives its lease
        back."""
        until = time.monotonic() + REMOVE_S
        grace = 0 if self._force else None
        while True:
            try:
                await self._api.delete(PODS, self._name, grace)
                await self._api.delete(SECRETS, self._name)
                if await self._gone(max(until, time.monotonic() + 1.0)):
                    return
                grace = 0
            except ClusterAway as error:
                if time.monotonic() > until + REMOVE_S:
                    self._context.notify(f"the Pod {self._name} stays in the cluster: {error}")
                    return
                await asyncio.sleep(1.0)
            except ClusterRefused as error:
                self._context.notify(f"the Pod {self._name} stays in the cluster: {error}")
                return
            if time.monotonic() > until + REMOVE_S:
                self._context.notify(f"the Pod {self._name} stays in the cluster: a finalizer?")
                return

    async def _gone(self, until: float) -> bool:
        pod = self._watch.pod(self._name)
        while pod is not None and (left := until - time.monotonic()) > 0:
            pod = await self._watch.changed(self._name, pod, 0.5 if self._force else left)
            if self._force:
                break
        return pod is None


def is_forbidden(error: ClusterRefused) -> bool:
    """By its roles, and not by the namespace's Pod Security or quota."""
    return error.status == 403 and "forbidden: User " in str(error)


async def _whole(making: Coroutine[Any, Any, Json]) -> Json:
    """Ends only when the request has: an answer that nobody awaits could leave a Pod behind."""
    task = asyncio.ensure_future(making)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


class StartFailed(EmufarmError):
    """This Pod did not start; the slot may make another."""
