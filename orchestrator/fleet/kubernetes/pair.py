"""A pair in a cluster: one Pod with a device and its worker, from its making to its end.

A worker that crashed is restarted in its Pod by the kubelet, and sends what it had sealed. When the
device ends, or the Pod goes, the Pod is removed and the slot makes another.
"""

from __future__ import annotations

import asyncio
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
from ...outcome import DISRUPTIONS, Cause
from ...worker.arguments import WorkerExit
from ..fact import FactKind
from ..slot import NoMorePairs, Slot
from . import names
from .agents import KubernetesAgents
from .api import PODS, SECRETS, ClusterAway, ClusterRefused, Json, KubernetesApi
from .nodes import NodeHistory, avoidance
from .pair_start import StartEnd, StartPatience, WaitNews
from .pod_record import keep_status
from .pod_spec import PodSettings
from .pod_status import ContainerEnd, PodView, held_by, read_pod
from .staging import make_room, send_left
from .watch import PodWatch

REMOVE_S = 45.0  # a Pod's grace, and some more for the kubelet to report its end
START_LOOK_S = 2.0  # between two looks at a Pod that starts
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0  # before a Pod is made once more, doubled each time
LOOK_S = 30.0  # between two looks at a Pod that does not change
FORBIDDEN_S = 30.0  # for an API server that was just started to know its roles
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
    waits: WaitNews = field(default_factory=WaitNews)
    # slot -> since when it waits for a Pod that starts
    waiting: dict[str, float] = field(default_factory=dict)


class KubernetesPair:
    def __init__(self, slot: Slot, context: PairContext) -> None:
        self._slot = slot
        self._context = context
        self._api, self._watch = context.api, context.watch
        self._device = slot.device
        self._name = names.device_object(context.settings.run, slot.device)
        self._avoided: frozenset[str] = frozenset()  # the nodes that its Pod may not be on
        self._pod: Json = {}  # as it was seen last
        since = context.waiting.setdefault(slot.name, time.monotonic())
        boot_s = context.settings.order.boot_s
        self._patience = StartPatience(since, context.pending_s, boot_s)
        self._stays = False  # for a successor
        self._held = False  # by finalizers, and somebody was told
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
        """Its Pod; None where one of this name is ending, or an adopted one is gone: the slot's
        next has another name."""
        adopted = self._device in self._context.settings.order.adopted
        asked = time.monotonic()
        await self._watch.answers()
        since, pause = time.monotonic(), FIRST_PAUSE_S
        self._wait_from(self._patience.since + since - asked)
        while True:
            making = False
            try:
                if pod := self._watch.pod(self._name) or await self._api.get(PODS, self._name):
                    self._watch.add(pod)
                    # One that is ending is of the predecessor that made it, unless it was adopted.
                    return pod if adopted or read_pod(pod).gone is None else None
                if adopted:
                    self._report("device_lost", _GONE, _GONE.text)
                    return None
                making = True
                return await _whole(self._make())
            except ClusterAway as error:
                if making:  # it reads and does not write: an admission webhook fails
                    await self._wait(Cause.ENGINE_AWAY, str(error))
                else:
                    self._wait_from(time.monotonic())
            except ClusterRefused as error:
                if error.passing:
                    await self._wait(Cause.UNSCHEDULABLE, str(error))
                elif not error.exists and not (
                    is_forbidden(error) and time.monotonic() - since < FORBIDDEN_S
                ):
                    await self._fail(ContainerEnd(Cause.CONFIG_ERROR, None, str(error)))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _make(self) -> Json:
        settings, device = self._context.settings, self._device
        self._avoided = self._context.nodes.avoided
        pod = settings.pod(device, self._avoided)
        await self._make_room()
        try:
            await self._api.create(SECRETS, settings.secret(device, secrets.token_urlsafe(24)))
        except ClusterRefused as error:
            if not error.exists:
                raise
        made = await self._api.create(PODS, pod)
        self._watch.add(made)
        return made

    async def _make_room(self) -> None:
        staging = self._context.settings.staging(self._device)
        if staging is None:
            return
        try:
            await asyncio.to_thread(make_room, staging)
        except OSError as error:
            self._context.notify(f"{staging} cannot be made: {error}")

    async def _keep(self, pod: Json | None) -> bool:
        """Until the pair has ended."""
        view = read_pod(pod or {})
        # A predecessor has reported workers that had ended before. It never kept a Pod whose device
        # had, so such an end is one that nobody saw.
        before, hurt, taken = view.worker_ends, 0.0, False
        crashes = before
        while pod is not None:
            self._pod, view, now = pod, read_pod(pod), time.monotonic()
            wait_s = LOOK_S
            if wrong := self._context.settings.other_images(view.images):
                await self._conclude(view, ContainerEnd(Cause.PIN_MISMATCH, None, wrong), wrong)
                return False
            left = view.worker_end.left if view.worker_end and not view.worker_running else None
            if left == WorkerExit.ALL_DECIDED:
                return True
            device_lost = view.device_ends > 0
            taken = view.gone is not None and (taken or not device_lost)
            if view.gone or device_lost or left is not None:
                # Its worker seals what it has, sends it and leaves by itself.
                hurt = hurt or now
                wait_s = hurt + self._context.seal_s - now
                if not view.worker_running or view.unreachable or wait_s <= 0:
                    return await self._lost(view, device_lost=device_lost and not taken)
            elif view.worker_ends > crashes:
                crashes = view.worker_ends
                await self._crashed(view)
                if self._slot.exhausted or crashes - before >= MOST_CRASHES:
                    return False
            elif view.queued:
                self._slot.state = "queued"
                self._wait_from(now)
            elif view.waiting is not None:
                self._slot.state = "starting"
                await self._check_start(view, now)
                wait_s = START_LOOK_S
            else:
                self._slot.state = "running"
                self._context.placed[self._device] = view.node
                self._context.waiting.pop(self._slot.name, None)
            pod = await self._watch.changed(self._name, pod, wait_s)
        end = view.gone or _GONE
        await self._conclude(view, end, end.text)
        return False

    async def _check_start(self, view: PodView, now: float) -> None:
        """StartFailed or NoMorePairs where waiting is in vain."""
        waiting = view.waiting
        assert waiting is not None
        if waiting.cause is Cause.UNSCHEDULABLE and self._avoided:
            self._check_avoided(now)
        self._notice(waiting.cause, waiting.text, now)
        end = self._patience.judge(view, now, at_work=bool(self._context.placed))
        await self._end_start(end)

    def _check_avoided(self, now: float) -> None:
        """StartFailed where the slot's next Pod should keep away from fewer nodes."""
        nodes = self._context.nodes
        if not self._avoided <= nodes.avoided:
            raise StartFailed("a device works on a node that this Pod keeps away from")
        if self._patience.without_others(now, at_work=bool(self._context.placed)):
            nodes.forget()
            text = f"no other node takes {self._device}: the avoided ones are tried again"
            self._context.notify(text)
            raise StartFailed(text)

    async def _wait(self, cause: Cause, text: str) -> None:
        """NoMorePairs where no device is at work and the time for that is over."""
        now, at_work = time.monotonic(), bool(self._context.placed)
        self._notice(cause, text, now)
        await self._end_start(self._patience.pending(cause, text, now, at_work=at_work))

    def _notice(self, cause: Cause, text: str, now: float) -> None:
        """Why it waits; of thousands that wait for the same, one speaks for all."""
        if self._patience.notice(cause, text, now) and self._context.waits.is_news(text, now):
            self._context.notify(f"{self._device} waits: {text}")

    def _wait_from(self, now: float) -> None:
        """The time until now does not count."""
        self._patience.since = self._context.waiting[self._slot.name] = now

    async def _end_start(self, end: StartEnd | None) -> None:
        if end is None:
            return
        text = end.text
        if end.cause is Cause.START_TIMEOUT:
            text = await self._with_log(text, "device")
        await self._fail(ContainerEnd(end.cause, None, text), last=end.last)

    async def _fail(self, end: ContainerEnd, *, last: bool = False) -> None:
        await self._save()
        self._report("device_not_started", end, end.text)
        raise NoMorePairs(end.text) if last else StartFailed(end.text)

    async def _crashed(self, view: PodView) -> None:
        """The kubelet starts it again, and keeps the last end only."""
        end = view.worker_end
        assert end is not None
        await self._save(f".crash-{view.worker_ends}")
        self._report("worker_lost", end, await self._with_log(end.text, "worker"))

    async def _lost(self, view: PodView, *, device_lost: bool) -> bool:
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
        self._force = view.unreachable
        # A dead node's kubelet has no log to give, and asking it takes long.
        text = end.text if self._force else await self._with_log(end.text, "device")
        await self._conclude(view, end, text)
        return False

    async def _conclude(self, view: PodView, end: ContainerEnd, text: str) -> None:
        """NoMorePairs where Pods are taken away for too long, each before it started."""
        await self._save()
        await self._remove()
        await self._send_left()
        self._report("device_not_started" if view.waiting else "device_lost", end, text)
        if view.waiting and end.cause in DISRUPTIONS:
            at_work = bool(self._context.placed)
            vain = self._patience.pending(end.cause, end.text, time.monotonic(), at_work=at_work)
            if vain is not None:
                raise NoMorePairs(vain.text)

    async def _send_left(self) -> None:
        """What it had sealed, where staging is on a shared volume. In threads of its own: a commit
        needs one of the loop's."""
        staging = self._context.settings.staging(self._device)
        if staging is None:
            return
        send = partial(send_left, self._context.settings.order, staging, self._device)
        try:
            await asyncio.get_running_loop().run_in_executor(self._context.senders, send)
        except (EmufarmError, OSError) as error:
            self._context.notify(f"{self._device}: what it had sealed stays in {staging}: {error}")

    async def _with_log(self, text: str, container: str) -> str:
        log = await self._api.log_tail(self._name, container, _LINES, previous=True)
        log = log or await self._api.log_tail(self._name, container, _LINES)
        return f"{text}\n{log}".strip()

    async def _save(self, which: str = "") -> None:
        if self._pod:
            context, name = self._context, f"{self._device}{which}"
            await keep_status(context.logs, name, self._pod, context.notify)

    def _report(self, kind: FactKind, end: ContainerEnd, text: str) -> None:
        self._slot.report(kind, end.cause, end.exit_code or None, text)
        if end.cause not in DISRUPTIONS:  # it is counted: its time is not
            self._context.waiting.pop(self._slot.name, None)
        node = read_pod(self._pod).node
        if self._context.nodes.fault(node, end.cause):
            self._context.notify(avoidance(node))

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
                    self._tell_held()
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
        """Also where only a finalizer keeps it: nothing of it runs."""
        pod = self._watch.pod(self._name)
        while pod is not None and (left := until - time.monotonic()) > 0:
            if held_by(pod):
                return True
            pod = await self._watch.changed(self._name, pod, 0.5 if self._force else left)
            if self._force:
                break
        return pod is None or bool(held_by(pod))

    def _tell_held(self) -> None:
        if (holders := held_by(self._watch.pod(self._name) or {})) and not self._held:
            self._held = True
            self._context.notify(f"the Pod {self._name} has ended, and {holders} keep it")


def is_forbidden(error: ClusterRefused) -> bool:
    """By its roles, and not by the namespace's Pod Security or quota; or an API server that has
    just started does not know anybody yet."""
    return error.status == 401 or (error.status == 403 and "forbidden: User " in str(error))


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
