"""The Docker backend: a run's network, volume and pairs of containers on one engine.

The network's gateway is this machine: the coordinator listens there. The workers' secrets protect
it, since containers of other networks reach it too.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from ...coordinator.open_run import LOCK as RUN_LOCK
from ...errors import EmufarmError, UsageError
from ...events.notify import Notify
from ...pins.image_lock import IMAGE_FILE, ImageLock, write_lock
from ...pins.profile import FILE as PROFILE
from ...pins.profile import IMAGES_VARIABLE, Profile, images_folder
from ..blocking import finish
from ..container_layout import CONTROL_TOKEN, GIVEN_FOLDER
from ..fact import DeviceFact, OnFact, unexplained_loss
from ..fleet import SlotFleet
from ..port import FleetOrder
from ..slot import Slot
from . import containers
from .agents import AgentImage, DockerAgents
from .containers import ContainerLimits, Mount
from .engine import Engine
from .networks import make_network, make_volume, networks
from .owner import DEVICE, IMAGE, WORKER, Owner, owner
from .pair import DockerPair
from .pair_spec import ContainerTemplate, DockerPairSettings
from .reaper import clear, clear_pairs, reap
from .watch import AWAY_S, Watch

WORKER_LIMITS = ContainerLimits(cpus=2.0, memory_mb=2048, pids=512)
LIST_S = 10  # for the engine to list a run's containers; after that it counts as away
_MOST_THREADS = 1000  # started as they are needed: for each slot's pair, its agent, the watch

T = TypeVar("T")


@dataclass(frozen=True)
class DockerBackend:
    engine: Engine
    worker_image: str
    device_image: str
    lock: ImageLock
    profile: Profile
    agent: AgentImage | None = None  # where the agent comes in one
    seal_s: float = 60.0  # for a worker to notice that its device is gone, and to send what it has
    away_s: float = AWAY_S  # for an engine that does not answer
    name: str = "docker"

    def resources(self, run: Path, notify: Notify, *, adopt: bool = False) -> DockerResources:
        return DockerResources(self, run, notify, adopt=adopt)


class DockerResources:
    """Made on entry; removed on exit with everything in it, unless its fleet was left.

    What dead runs left goes first, this run's own included, where it was killed before.
    """

    def __init__(self, backend: DockerBackend, run: Path, notify: Notify, *, adopt: bool) -> None:
        self.backend = backend
        self.engine = backend.engine
        self.owner: Owner = owner(run / RUN_LOCK)
        self.volume = f"{self.owner.name}-staging"
        self.network = self.owner.name
        self.host = ""
        self.left = asyncio.Event()  # by its fleet, for a successor
        self._logs = run / "logs"
        self._notify = notify
        self._adopt = adopt

    async def __aenter__(self) -> Self:
        try:
            await finish(self._make)
        except BaseException:
            if not self._adopt:
                await self.__aexit__()
            raise
        return self

    def _make(self) -> None:
        if not self._adopt:
            clear(self.engine, self.owner, self._notify)
        reap(self.engine, self._notify)
        labels = self.owner.labels
        image = self.backend.worker_image
        make_volume(self.engine, self.volume, {**labels, IMAGE: image})  # or finds it
        found = {each.name: each for each in networks(self.engine, self.owner.label)}
        network = found.get(self.network) or make_network(self.engine, self.network, labels)
        self.host = network.gateway
        if not self.host:
            raise UsageError(
                f"the engine at {self.engine.host} gave the network {self.network} no gateway to "
                "listen on: it must be an engine on this machine"
            )

    def fleet(self, order: FleetOrder, on_fact: OnFact) -> SlotFleet:
        profile, given = self.backend.profile, self._given(order)
        limits = profile.resources
        settings = DockerPairSettings(
            engine=self.engine,
            owner=self.owner,
            network=self.network,
            volume=self.volume,
            worker=ContainerTemplate(
                self.backend.worker_image,
                WORKER_LIMITS,
                (Mount(GIVEN_FOLDER, str(given)),),
                {IMAGES_VARIABLE: f"{GIVEN_FOLDER}/images"},
            ),
            device=ContainerTemplate(
                self.backend.device_image,
                ContainerLimits(limits.cpus, limits.memory_mb, limits.pids),
                # Not its worker's secret: an agent may come to own the phone.
                (Mount(f"{GIVEN_FOLDER}/{CONTROL_TOKEN}", str(given / CONTROL_TOKEN)),),
                kvm=profile.kvm,
            ),
            order=order,
            profile=profile.name,
            seal_s=self.backend.seal_s,
            logs=self._logs,
            agents=self.backend.agent is not None,
        )
        return SlotFleet(DockerPairs(self.backend, settings, self.left), order, on_fact)

    def _given(self, order: FleetOrder) -> Path:
        """The folder that is mounted into containers. All users may read it, because containers
        run as other users; the private work folder around it keeps local users out."""
        given, profile = order.work / "given", self.backend.profile.name
        place = given / "images" / profile
        place.mkdir(parents=True)
        (given / CONTROL_TOKEN).write_text(secrets.token_urlsafe(24))
        write_lock(given / IMAGE_FILE, self.backend.lock)
        (place / PROFILE).write_bytes((images_folder() / profile / PROFILE).read_bytes())
        for path in (given, *given.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o444)
        return given

    async def living(self) -> tuple[str, ...]:
        found = await finish(lambda: containers.find(self.engine, self.owner.label))
        running = {one.name for one in found if one.state == "running"}
        workers = (name.removesuffix(WORKER) for name in running if name.endswith(WORKER))
        pairs = sorted(name for name in workers if name + DEVICE in running)
        return tuple(name.removeprefix(f"{self.owner.name}-") for name in pairs)

    def staged(self, living: Collection[str]) -> list[Path]:
        return []

    async def describe_loss(self, device: str) -> DeviceFact:
        return unexplained_loss(device)

    async def salvage(self) -> bool:
        return not self.left.is_set() and bool(await finish(lambda: self._try(clear_pairs)))

    async def __aexit__(self, *_: object) -> None:
        if not self.left.is_set():
            await finish(lambda: self._try(clear))

    def _try(self, work: Callable[[Engine, Owner, Notify], T]) -> T | None:
        """What cannot be removed now is found by its labels later; the run ends all the same."""
        try:
            return work(self.engine, self.owner, self._notify)
        except (EmufarmError, OSError) as error:
            self._notify(f"something of this run stays on the Docker engine: {error}")
            self._notify("`emufarm clean` removes it, and keeps what is sealed; so does a resume")
            return None


class DockerPairs:
    """The pairs of a Docker fleet, and the watch that sees them end."""

    def __init__(
        self, backend: DockerBackend, settings: DockerPairSettings, left: asyncio.Event
    ) -> None:
        self._settings = settings
        self._left = left
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="docker")
        self._engine = backend.engine.impatient(LIST_S)
        self._watch = Watch(self._engine, settings.owner.label, self._threads, backend.away_s)
        self.agents = (
            DockerAgents(backend.engine, self._engine, settings.owner, backend.agent, self._threads)
            if backend.agent
            else None
        )

    async def open(self) -> None:
        self._settings.logs.mkdir(parents=True, exist_ok=True)

    async def watch(self) -> None:
        await self._watch.run()

    async def run_pair(self, slot: Slot) -> bool:
        pair = DockerPair(slot, self._settings, self._watch, self._threads, self._left)
        return await pair.run()

    def committed(self, device: str) -> None:
        """Nothing: all devices are on one machine."""

    def leave(self) -> None:
        self._left.set()

    async def close(self) -> None:
        self._threads.shutdown(wait=False)
        self._engine.close()
