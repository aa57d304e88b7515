"""Agents in images on a cluster: a Pod for every attempt, made and removed by the fleet.

Its name and its labels are for the cluster; inside the Pod nothing names the run, the slot or the
case. NetworkPolicies let only the run's workers reach it, and let it reach nobody.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...coordinator.ledger import CoordinatorStopped
from ...coordinator.messages import AgentCommand, AgentStatus
from ...device.deadline import Deadline
from ...errors import EmufarmError
from ...events.notify import Notify
from . import names
from .api import PODS, ClusterAway, ClusterRefused, Json, KubernetesApi
from .pod_record import keep_status
from .pod_spec import AgentPodImage, PodSettings
from .pod_status import AGENT, AgentPodView, read_agent_pod
from .watch import PodWatch

PORT = 8080  # where an agent listens, by convention
COMMAND_S = 110.0  # for a whole command: its worker waits 120 s for the answer
ANSWER_S = 90.0  # of that, for a start; a Pod that waits then is waited for by the next command
START_S = 90.0  # for a Pod that has its node and its image to get an address
REMOVE_S = 10.0  # for the kubelet to confirm an end; then the Pod is removed by force
END_S = 5.0  # for the kubelet to notice an end that its worker has noticed
LOOK_S = 1.0  # between two looks at a Pod that does not change
PAUSE_S = 1.0  # before a request is repeated
_GRACE_S = 1  # for a program that is asked to stop: its attempt is over
_LINES, _CHARACTERS = 20, 2000

T = TypeVar("T")


@dataclass
class _Starting:
    """A Pod that was made and has no address yet."""

    name: str
    late: Deadline | None = None  # set once it has its node and its image
    noticed: str = ""  # what it waited for when that was last said


class AgentDeviceGone(EmufarmError):
    """The device whose agent is asked for is not at work, or not any more."""


class KubernetesAgents:
    """The agents of a fleet; the port is AgentContainers of coordinator/messages.py."""

    def __init__(
        self,
        api: KubernetesApi,
        watch: PodWatch,
        settings: PodSettings,
        agent: AgentPodImage,
        left: asyncio.Event,  # set where the pairs stay for a successor
        logs: Path,  # of its run
        notify: Notify,
    ) -> None:
        self._api = api
        self._watch = watch
        self._settings = settings
        self._image = agent
        self._left = left
        self._logs = logs
        self._notify = notify
        # The Pods that a device may have, the last one made at the end. To ask the cluster at every
        # attempt would make its server search all Pods of the namespace.
        self._pods: defaultdict[str, list[str]] = defaultdict(list)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting: dict[str, _Starting] = {}  # device -> the agent that its worker waits for
        self._devices: set[str] = set()  # those at work

    async def open(self, adopted: Collection[str]) -> None:
        """Finds the agents that a predecessor left to these devices; all others are removed.
        UsageError where no Pod can be made from the template."""
        self._settings.agent_pod(self._image, "slot-00.0", "any")
        found, _ = await self._api.listed(PODS, names.run_selector(self._settings.run, AGENT))
        for pod in sorted(found, key=_made_at):
            name, device = pod["metadata"]["name"], pod["metadata"]["labels"].get(names.DEVICE)
            if device in adopted:
                self._pods[device].append(name)
            else:
                await self._api.delete(PODS, name, 0)

    def begin(self, device: str) -> None:
        """Its pair is about to start, or is adopted: from now on it may have agents."""
        self._devices.add(device)

    async def agent(self, device: str, command: AgentCommand) -> AgentStatus:
        """One command at a time for each device. CoordinatorStopped, upon which its worker asks
        again, where its pair was left to a successor, and where the agent's Pod still waits."""
        calls: dict[AgentCommand, Callable[[str], Awaitable[AgentStatus]]] = {
            "start": self._start, "describe_end": self._describe_end, "remove": self._remove,
        }  # fmt: skip
        try:
            async with asyncio.timeout(COMMAND_S), self._locks[device]:
                self._require(device)
                return await calls[command](device)
        except TimeoutError:
            text = f"the cluster did not {command} the agent's Pod within {COMMAND_S:g} s"
            return AgentStatus(text=text, fault="farm")
        except (ClusterAway, ClusterRefused, AgentDeviceGone) as error:
            return AgentStatus(text=str(error), fault="farm")

    async def end(self, device: str) -> None:
        """The device has ended: its agent is removed, and no other is started. Raises nothing;
        trouble is notified."""
        self._devices.discard(device)
        try:
            async with asyncio.timeout(COMMAND_S), self._locks[device]:
                seen = self._watch.names({names.COMPONENT: AGENT, names.DEVICE: device})
                self._pods[device] += [name for name in seen if name not in self._pods[device]]
                await self._remove(device)
        except (ClusterAway, ClusterRefused, TimeoutError) as error:
            why = str(error) or f"not removed within {COMMAND_S:g} s"
            self._notify(f"the agent's Pod of {device} stays in the cluster: {why}")
        self._pods.pop(device, None)

    def _require(self, device: str) -> None:
        if self._left.is_set():
            raise CoordinatorStopped("this coordinator has left its devices to a successor")
        if device not in self._devices:
            raise AgentDeviceGone(f"{device} is not at work: it has no agent")

    async def _start(self, device: str) -> AgentStatus:
        """A Pod that waits for a place or its image is nobody's fault: its worker is told to ask
        again, for as long as it waits for a coordinator, and the Pod keeps its place."""
        answer = Deadline(ANSWER_S)
        try:
            starting = self._starting.get(device) or await self._begin(device, answer)
            view = await self._started(device, starting, answer)
            if view.stage == "starting":
                if starting.noticed != view.text:
                    starting.noticed = view.text
                    self._notify(f"the agent of {device} waits: {view.text}")
                raise CoordinatorStopped(f"the agent's Pod waits: {view.text}")
            del self._starting[device]
            if view.address:
                return AgentStatus(url=_url(view.address))
            text = await self._told(device, starting.name, view)
            status = AgentStatus(text=text, fault=view.fault)
        except (ClusterAway, ClusterRefused) as error:
            status = AgentStatus(text=str(error), fault="farm")
        with suppress(ClusterAway, ClusterRefused):  # then the next start removes it
            await self._remove(device)
        return status

    async def _begin(self, device: str, answer: Deadline) -> _Starting:
        await self._remove(device, answer)
        name = names.agent_object(self._settings.run, device, secrets.token_hex(4))
        self._pods[device].append(name)
        await self._make(device, name, answer)
        self._starting[device] = _Starting(name)
        return self._starting[device]

    async def _make(self, device: str, name: str, deadline: Deadline) -> None:
        """A quota is waited for, since Pods that are about to end count too. One that stays used up
        is nobody's fault: CoordinatorStopped, upon which its worker asks again."""
        body = self._settings.agent_pod(self._image, device, name)
        while True:
            try:
                create = partial(self._api.create, PODS, body)
                self._watch.add(await self._patiently(create, deadline))
                return
            except ClusterRefused as error:
                if error.exists:  # made by a request whose answer was lost
                    return
                if not error.passing:
                    raise
                if deadline.passed:
                    self._notify(f"the agent of {device} waits: {error}")
                    raise CoordinatorStopped(f"the agent's Pod waits: {error}") from error
            await asyncio.sleep(deadline.share(PAUSE_S))
            self._require(device)

    async def _started(self, device: str, starting: _Starting, answer: Deadline) -> AgentPodView:
        """Once it can be reached or has ended, or it is time to answer. One that is late although
        it need not wait counts as ended."""
        while True:
            view = await self._look(starting.name, answer)
            if wrong := self._image.other(view.image):
                return AgentPodView("ended", wrong, "farm")
            if view.address or view.stage == "ended":
                return view
            if not view.waits:
                starting.late = starting.late or Deadline(START_S)
                if starting.late.passed:
                    late = f"its Pod did not run within {START_S:g} s: {view.text}"
                    return AgentPodView("ended", late, "farm")
            if answer.passed:
                return view
            await self._change(starting.name, answer)
            self._require(device)

    async def _describe_end(self, device: str) -> AgentStatus:
        deadline = Deadline(END_S)
        if not self._pods[device]:
            return AgentStatus(text=read_agent_pod(None).text, fault="farm")
        name = self._pods[device][-1]
        view = await self._look(name, deadline)
        while view.stage == "running" and not deadline.passed:
            await self._change(name, deadline)
            view = await self._look(name, deadline)
        text = await self._told(device, name, view)
        return AgentStatus(text=text, fault="farm" if view.fault == "farm" else "")

    async def _remove(self, device: str, patience: Deadline | None = None) -> AgentStatus:
        """Confirmed by its kubelet, else by force."""
        self._starting.pop(device, None)
        patience = patience or Deadline(REMOVE_S)
        for name in tuple(self._pods[device]):
            delete = partial(self._api.delete, PODS, name)
            confirmed = Deadline(REMOVE_S)
            await self._patiently(partial(delete, _GRACE_S), patience)
            while await self._patiently(partial(self._api.get, PODS, name), patience) is not None:
                if confirmed.passed:
                    await self._patiently(partial(delete, 0), patience)
                    break
                await self._change(name, confirmed)
            self._pods[device].remove(name)
        return AgentStatus()

    async def _told(self, device: str, name: str, view: AgentPodView) -> str:
        """With its last output, where its node can be expected to have it."""
        if view.fault == "farm":
            pod = await self._api.get(PODS, name)
            if pod is not None:
                kept = f"{device}.{name.rpartition('-')[2]}"
                await keep_status(self._logs, kept, pod, self._notify)
            return view.text
        output = (await self._api.log_tail(name, AGENT, _LINES)).strip()[-_CHARACTERS:]
        return f"{view.text}; its last output: {output}" if output else view.text

    async def _look(self, name: str, deadline: Deadline) -> AgentPodView:
        pod = await self._patiently(partial(self._api.get, PODS, name), deadline)
        return read_agent_pod(pod)

    async def _change(self, name: str, deadline: Deadline) -> None:
        """Until it changes, or it is time to look. The watch may be silent or behind, so what it
        shows is not relied on."""
        await self._watch.changed(name, self._watch.pod(name), deadline.share(LOOK_S))

    async def _patiently(self, ask: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Repeated while the API server is away: a run has many attempts, and each would fail."""
        while True:
            try:
                return await ask()
            except ClusterAway:
                if deadline.passed:
                    raise
            await asyncio.sleep(deadline.share(PAUSE_S))


def _made_at(pod: Json) -> tuple[bool, str]:
    """The one that its worker talks to is the last."""
    about = pod["metadata"]
    return not about.get("deletionTimestamp"), str(about.get("creationTimestamp"))


def _url(address: str) -> str:
    return f"http://[{address}]:{PORT}/" if ":" in address else f"http://{address}:{PORT}/"
