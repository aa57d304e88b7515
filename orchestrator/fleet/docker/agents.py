"""An agent in an image: a container of its own for every attempt, shut in with its worker alone.

A slot has a network that reaches nothing, not even this machine; on it are the slot's worker, whose
device listens on loopback only, and the attempt's agent. No file, no secret and no variable of ours
is inside, and no name there says which run or case this is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from ...coordinator.messages import AgentCommand, AgentStatus
from ...device.deadline import Deadline
from ...errors import UsageError
from . import containers, networks
from .container_end import told
from .containers import ContainerLimits, ContainerSpec, ContainerState
from .engine import BadRequest, Engine, EngineAway, EngineRefused, NotThere
from .images import image
from .owner import SLOT, Owner

PORT = 8080  # where an agent listens, by convention
LIMITS = ContainerLimits(cpus=1.0, memory_mb=1024, pids=256)
# The engine's own resolver would ask the internet's for it: nobody answers there.
_NO_RESOLVER = ("127.0.0.1",)
_END_S, _LOOK_S = 2.0, 0.05  # for the engine to notice an end that its worker has felt
_LINES, _WORDS = 20, 2000


@dataclass(frozen=True)
class AgentImage:
    name: str
    id: str  # what runs, whatever the name comes to mean meanwhile
    limits: ContainerLimits = LIMITS
    volumes: tuple[
        str, ...
    ] = ()  # in memory, within its limit: it may not fill this machine's disk


def agent_image(engine: Engine, name: str) -> AgentImage:
    """UsageError where the engine has none; asked before anything is provisioned."""
    found = image(engine, name)
    if found is None:
        raise UsageError(
            f"the engine at {engine.host} has no image {name!r}: build or pull it first"
        )
    return AgentImage(name, found.id, volumes=found.volumes)


@dataclass(frozen=True)
class Cell:
    """The place of one slot's agent."""

    engine: Engine
    owner: Owner
    slot: str

    @property
    def network(self) -> str:
        return f"{self.owner.name}-{self.slot}-agent"

    @property
    def labels(self) -> dict[str, str]:
        return {**self.owner.labels, SLOT: self.slot}

    def open(self, worker: str) -> None:
        """With the slot's worker in it, before that one starts."""
        networks.make_network(self.engine, self.network, self.labels, isolated=True)
        networks.join(self.engine, self.network, worker)

    def close(self) -> None:
        """Once no container is in it."""
        for network in networks.networks(self.engine, self.owner.label):
            if network.name == self.network:
                networks.remove_network(self.engine, network)


class DockerAgents:
    """The agents of a fleet; coordinator/messages.py's AgentContainers."""

    def __init__(
        self,
        engine: Engine,
        sooner: Engine,  # one that is not asked where it is on its way out
        owner: Owner,
        agent: AgentImage,
        threads: Executor,
    ) -> None:
        self._engine = engine
        self._sooner = sooner
        self._owner = owner
        self._image = agent
        self._threads = threads

    async def agent(self, device: str, command: AgentCommand) -> AgentStatus:
        calls: dict[AgentCommand, Callable[[str], AgentStatus]] = {
            "start": self._start, "describe_end": self._describe_end, "remove": self._remove,
        }  # fmt: skip
        call = partial(self._asked, calls[command], device)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _asked(self, call: Callable[[str], AgentStatus], device: str) -> AgentStatus:
        try:
            return call(device)
        except (EngineAway, EngineRefused) as error:
            return AgentStatus(text=str(error), fault="farm")

    def _start(self, device: str) -> AgentStatus:
        self._remove(device)
        cell = self._cell(device)
        id = containers.create(self._engine, self._spec(device, cell))
        try:
            containers.start(self._engine, id)
        except BadRequest as error:  # its image names a program that is not in it, for example
            return AgentStatus(text=str(error), fault="agent")
        address = containers.address(self._engine, id, cell.network)
        if not address:
            return AgentStatus(text=self._how(id), fault="agent")
        return AgentStatus(url=f"http://{address}:{PORT}/")

    def _describe_end(self, device: str) -> AgentStatus:
        try:
            return AgentStatus(text=self._how(self._name(device)))
        except NotThere:
            return AgentStatus(text="its container is gone: somebody removed it", fault="farm")

    def _remove(self, device: str) -> AgentStatus:
        containers.remove(self._engine, self._name(device))
        return AgentStatus()

    def _how(self, container: str) -> str:
        deadline = Deadline(_END_S)
        seen = containers.inspect(self._sooner, container)
        while seen.exit_code is None and not deadline.passed:
            time.sleep(_LOOK_S)
            seen = containers.inspect(self._sooner, container)
        words = containers.log_tail(self._sooner, container, _LINES)[-_WORDS:]
        how = _told(seen, self._image.limits)
        return f"{how}; its last words: {words}" if words else how

    def _cell(self, device: str) -> Cell:
        return Cell(self._engine, self._owner, device.rpartition(".")[0])

    def _name(self, device: str) -> str:
        return f"{self._owner.name}-{device}-agent"

    def _spec(self, device: str, cell: Cell) -> ContainerSpec:
        return ContainerSpec(
            name=self._name(device),
            image=self._image.id,
            command=(),
            labels=cell.labels,
            network=cell.network,
            limits=self._image.limits,
            tmpfs=("/tmp", *self._image.volumes),
            dns=_NO_RESOLVER,
        )


def _told(seen: ContainerState, limits: ContainerLimits) -> str:
    return told("agent", seen, limits) or "its container runs on"
