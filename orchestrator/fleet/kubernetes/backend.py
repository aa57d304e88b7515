"""The Kubernetes backend: a run's pairs are Pods of one namespace, owned by its FarmRun.

They outlive the coordinator that made them. A successor lists those that live, and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ...coordinator.messages import slot_of
from ...errors import EmufarmError
from ...events.notify import Notify
from ...files import json_bytes
from ...outcome import Cause
from ...pins.image_lock import ImageLock
from ...pins.profile import Profile
from ..container_layout import STAGING
from ..fact import DeviceFact, OnFact
from ..fleet import SlotFleet
from ..port import FleetOrder
from ..slot import Slot, device_numbers
from . import names, staging
from .access import ClusterAccess
from .agents import KubernetesAgents
from .api import PODS, SECRETS, Json, KubernetesApi
from .farm_run import FARM_RUNS
from .nodes import NodeHistory
from .pair import KubernetesPair, PairContext, StartFailed
from .pod_record import keep_status
from .pod_spec import AgentPodImage, PodSettings, given_files, shares_staging
from .pod_status import AGENT, DEVICE, ContainerEnd, read_pod
from .watch import PodWatch

_SENDERS = 2  # threads


@dataclass(frozen=True)
class KubernetesBackend:
    access: ClusterAccess
    namespace: str
    owner: Mapping[str, Any]  # the ownerReference to the run's FarmRun
    template: Mapping[str, Any]  # of the PodTemplate emufarm-device
    device_image: str  # by digest
    worker_image: str
    lock: ImageLock
    profile: Profile
    profile_text: str  # its file
    seal_s: float = 60.0
    pending_s: float = 600.0
    agent: AgentPodImage | None = None  # where the agent comes in one
    staging: Path = Path(STAGING)  # of all runs, where it is on a volume that all Pods share
    name: str = "kubernetes"

    def resources(self, run: Path, notify: Notify, *, adopt: bool = False) -> KubernetesResources:
        return KubernetesResources(self, run, notify, adopt=adopt)


class KubernetesResources:
    """The run's Pods. Those that an earlier coordinator left go first, unless they are adopted."""

    host = "0.0.0.0"  # workers reach the coordinator through its Service

    def __init__(
        self, backend: KubernetesBackend, run: Path, notify: Notify, *, adopt: bool
    ) -> None:
        self._backend = backend
        self._run = run.name
        self._logs = run / "logs"
        self._notify = notify
        self._adopt = adopt
        seen = shares_staging(backend.template) and backend.staging.is_dir()
        self._staging = backend.staging if seen else None  # as this process sees it
        self._tidying: asyncio.Task[None] | None = None
        self._left = asyncio.Event()
        self._ended = asyncio.Event()  # its fleet was, in order
        self._api = KubernetesApi(backend.access, backend.namespace)

    async def __aenter__(self) -> Self:
        names.require_run_name(self._run)
        try:
            if not self._adopt:
                await self._clear()
            if self._staging is not None:
                await self._claim_staging(self._staging)
                # It may take long, and workers wait for a coordinator.
                self._tidying = asyncio.create_task(self._tidy_staging(self._staging))
        except BaseException:
            await self._api.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            # Adopted Pods go only with their fleet: whoever fails before, or lost its claim, has no
            # right to them.
            if not self._left.is_set() and (self._ended.is_set() or not self._adopt):
                await self._clear()
                if self._staging is not None:
                    await asyncio.to_thread(staging.release, self._staging / self._run)
        except EmufarmError as error:
            self._notify(f"something of this run stays in the cluster: {error}")
        finally:
            if self._tidying is not None:
                self._tidying.cancel()
                await asyncio.wait([self._tidying])
            await self._api.__aexit__()

    def fleet(self, order: FleetOrder, on_fact: OnFact) -> SlotFleet:
        backend, nodes = self._backend, NodeHistory()
        settings = PodSettings(
            run=self._run,
            owner=backend.owner,
            template=backend.template,
            device_image=backend.device_image,
            worker_image=backend.worker_image,
            profile=backend.profile,
            given=given_files(json_bytes(backend.lock.as_json()).decode(), backend.profile_text),
            order=order,
            shared=self._staging,
        )
        watch = PodWatch(self._api, names.run_selector(self._run), self._notify)
        agents = None
        if backend.agent:
            agents = KubernetesAgents(
                self._api, watch, settings, backend.agent, self._left, self._logs, self._notify
            )
        context = PairContext(
            self._api, watch, settings, nodes, self._logs, self._notify, backend.seal_s,
            backend.pending_s, self._left, ThreadPoolExecutor(_SENDERS, thread_name_prefix="left"),
            agents,
        )  # fmt: skip
        return SlotFleet(KubernetesPairs(context, self._ended), order, on_fact)

    async def living(self) -> tuple[str, ...]:
        """Those of every Pod that is not gone: one that is queued or boots has its place, and a
        worker that is started again in its Pod holds its lease. Also of one that was told to go,
        while its worker seals and sends. One for each slot, the latest."""
        found: dict[str, int] = {}
        for pod in await self._pods(DEVICE):
            device = str(pod["metadata"]["labels"][names.DEVICE])
            view = read_pod(pod)
            if view.gone is None or (view.worker_running and not view.unreachable):
                slot, number = slot_of(device), device_numbers(device)[1]
                found[slot] = max(found.get(slot, 0), number)
        return tuple(sorted(f"{slot}.{number}" for slot, number in found.items()))

    def staged(self, living: Collection[str]) -> list[Path]:
        """On the shared volume, where the templates have one."""
        if self._staging is None:
            return []
        found = sorted((self._staging / self._run).glob("slot-*.*"))
        return [folder for folder in found if folder.name not in living]

    async def describe_loss(self, device: str) -> DeviceFact:
        """What its Pod says, as long as there is one."""
        pod = await self._api.get(PODS, names.device_object(self._run, device))
        view = read_pod(pod or {})
        if pod:
            await keep_status(self._logs, device, pod, self._notify)
        end = (view.gone or view.device_end or view.worker_end) if pod else None
        if end is None:
            end = ContainerEnd(
                Cause.REMOVED, None, "its Pod was gone when the coordinator came back"
            )
        return DeviceFact(device, "device_lost", end.cause, end.exit_code, end.text)

    async def salvage(self) -> bool:
        """Nothing is brought here: what a dead Pod's worker had sealed on a shared volume is sent
        when its Pod has ended."""
        return False

    async def _claim_staging(self, place: Path) -> None:
        """Before anything else of the run is there: a folder whose owner is gone is removed."""
        own = staging.owner_of(self._api.namespace, self._backend.owner["uid"])
        try:
            await asyncio.to_thread(staging.claim, place / self._run, own)
        except OSError as error:
            self._notify(f"the shared staging {place} cannot be written: {error}")

    async def _tidy_staging(self, place: Path) -> None:
        """What deleted runs left on the shared volume goes, as nobody else looks there."""
        namespace = self._api.namespace
        try:
            found = await asyncio.to_thread(staging.owners, place)
            runs, _ = await self._api.listed(FARM_RUNS, "")  # later than their folders
        except (EmufarmError, OSError) as error:
            self._notify(f"the shared staging {place} cannot be tidied: {error}")
            return
        alive = {staging.owner_of(namespace, one["metadata"]["uid"]) for one in runs}
        for name in staging.orphans(found, namespace, alive):
            try:
                await asyncio.to_thread(staging.remove, place / name, found[name])
            except OSError as error:
                self._notify(f"{place / name}, of a deleted run, cannot be removed: {error}")

    async def _pods(self, component: str) -> list[Json]:
        return (await self._api.listed(PODS, names.run_selector(self._run, component)))[0]

    async def _clear(self) -> None:
        """Devices first: none of them asks for another agent then."""
        for pod in await self._pods(DEVICE):
            name = pod["metadata"]["name"]
            await self._api.delete(PODS, name, 0)
            await self._api.delete(SECRETS, name)
        for pod in await self._pods(AGENT):
            await self._api.delete(PODS, pod["metadata"]["name"], 0)


class KubernetesPairs:
    """The pairs of a fleet of Pods, and the watch that sees them change."""

    def __init__(self, context: PairContext, ended: asyncio.Event) -> None:
        self.agents = context.agents
        self._context = context
        self._ended = ended

    async def open(self) -> None:
        """Pods that a predecessor left and nobody adopts go: their slots make others."""
        context, settings = self._context, self._context.settings
        context.logs.mkdir(parents=True, exist_ok=True)
        selector = names.run_selector(settings.run, DEVICE)
        for pod in (await context.api.listed(PODS, selector))[0]:
            device = str(pod["metadata"]["labels"].get(names.DEVICE))
            if device not in settings.order.adopted:
                await context.api.delete(PODS, pod["metadata"]["name"])
                await context.api.delete(SECRETS, pod["metadata"]["name"])
        if self.agents:
            await self.agents.open(settings.order.adopted)

    async def watch(self) -> None:
        await self._context.watch.run()

    async def run_pair(self, slot: Slot) -> bool:
        try:
            return await KubernetesPair(slot, self._context).run()
        except StartFailed:
            return False

    def committed(self, device: str) -> None:
        self._context.nodes.worked(self._context.placed.get(device, ""))

    def leave(self) -> None:
        self._context.left.set()

    async def close(self) -> None:
        self._context.senders.shutdown(wait=False)
        if not self._context.left.is_set():
            self._ended.set()
