"""Agents in images: a container for every attempt, on a network with only its worker.

A slot has a network that reaches nothing, not even this machine; on it are the slot's worker, whose
device listens on loopback only, and the attempt's agent. No file, secret or variable of ours is in
the container, and no name in it shows which run or case this is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from ...coordinator.messages import AgentCommand, AgentStatus, slot_of
from ...device.deadline import Deadline
from ...errors import UsageError
from . import containers, networks
from .container_end import describe_end
from .containers import ContainerLimits, ContainerSpec
from .engine import BadRequest, Engine, EngineAway, EngineRefused, NotThere
from .images import image
from .owner import SLOT, Owner

PORT = 8080  # where an agent listens, by convention
LIMITS = ContainerLimits(cpus=1.0, memory_mb=1024, pids=256)
# Nobody answers at this address; otherwise the engine's resolver would ask the internet's.
_NO_RESOLVER = ("127.0.0.1",)
_END_S, _POLL_S = 2.0, 0.05  # for the engine to notice an end that its worker has noticed
_LINES, _CHARACTERS = 20, 2000


@dataclass(frozen=True)
class AgentImage:
    name: str
    id: str  # this image runs, even if its name is given to another meanwhile
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
class AgentNetwork:
    """The isolated network of one slot's worker and agent."""

    engine: Engine
    owner: Owner
    slot: str

    @property
    def name(self) -> str:
        return f"{self.owner.name}-{self.slot}-agent"

    @property
    def labels(self) -> dict[str, str]:
        return {**self.owner.labels, SLOT: self.slot}

    def open(self, worker: str) -> None:
        """Made with the slot's worker in it, before the worker starts."""
        networks.make_network(self.engine, self.name, self.labels, isolated=True)
        networks.join(self.engine, self.name, worker)

    def close(self) -> None:
        """Removed, once no container is in it."""
        for network in networks.networks(self.engine, self.owner.label):
            if network.name == self.name:
                networks.remove_network(self.engine, network)


class DockerAgents:
    """The agents of a fleet; the port is AgentContainers of coordinator/messages.py."""

    def __init__(
        self,
        engine: Engine,
        impatient: Engine,  # with a short time limit, to look how an agent ended
        owner: Owner,
        agent: AgentImage,
        threads: Executor,
    ) -> None:
        self._engine = engine
        self._impatient = impatient
        self._owner = owner
        self._image = agent
        self._threads = threads

    async def agent(self, device: str, command: AgentCommand) -> AgentStatus:
        calls: dict[AgentCommand, Callable[[str], AgentStatus]] = {
            "start": self._start, "describe_end": self._describe_end, "remove": self._remove,
        }  # fmt: skip
        call = partial(self._try, calls[command], device)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _try(self, call: Callable[[str], AgentStatus], device: str) -> AgentStatus:
        try:
            return call(device)
        except (EngineAway, EngineRefused) as error:
            return AgentStatus(text=str(error), fault="farm")

    def _start(self, device: str) -> AgentStatus:
        self._remove(device)
        network = self._network(device).name
        id = containers.create(self._engine, self._spec(device))
        try:
            containers.start(self._engine, id)
        except BadRequest as error:  # its image names a program that is not in it, for example
            return AgentStatus(text=str(error), fault="agent")
        address = containers.address(self._engine, id, network)
        if not address:
            return AgentStatus(text=self._describe(id), fault="agent")
        return AgentStatus(url=f"http://{address}:{PORT}/")

    def _describe_end(self, device: str) -> AgentStatus:
        try:
            return AgentStatus(text=self._describe(self._name(device)))
        except NotThere:
            return AgentStatus(text="its container is gone: somebody removed it", fault="farm")

    def _remove(self, device: str) -> AgentStatus:
        containers.remove(self._engine, self._name(device))
        return AgentStatus()

    def _describe(self, container: str) -> str:
        deadline = Deadline(_END_S)
        state = containers.inspect(self._impatient, container)
        while state.exit_code is None and not deadline.passed:
            time.sleep(_POLL_S)
            state = containers.inspect(self._impatient, container)
        output = containers.log_tail(self._impatient, container, _LINES)[-_CHARACTERS:]
        how = describe_end("agent", state, self._image.limits) or "its container still runs"
        return f"{how}; its last output: {output}" if output else how

    def _network(self, device: str) -> AgentNetwork:
        return AgentNetwork(self._engine, self._owner, slot_of(device))

    def _name(self, device: str) -> str:
        return f"{self._owner.name}-{device}-agent"

    def _spec(self, device: str) -> ContainerSpec:
        network = self._network(device)
        return ContainerSpec(
            name=self._name(device),
            image=self._image.id,
            command=(),
            labels=network.labels,
            network=network.name,
            limits=self._image.limits,
            tmpfs=("/tmp", *self._image.volumes),
            dns=_NO_RESOLVER,
        )
