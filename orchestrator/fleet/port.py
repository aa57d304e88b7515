"""The port of all backends: what a run orders from one, and what it can ask of its fleet.

    backend = LocalBackend(...)                              # chosen before anything is provisioned
    async with backend.resources(run, notify) as resources:  # the coordinator listens on its host
        async with resources.fleet(order, on_fact) as fleet:
            await fleet.ended()
        await resources.salvage()

A backend is a package of this room: local/, docker/. It makes, watches and removes pairs of a
device and its worker; it knows no case, and the coordinator knows none of its objects, only the
facts that `on_fact` gets (fact.py). Every backend passes the same tests: tests/fleet/contract.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from ..coordinator.credentials import WorkerKey
from ..coordinator.messages import AgentContainers
from ..errors import EmufarmError
from ..events.notify import Notify
from ..settings import Limits
from .fact import DeviceFact, OnFact
from .slot import Slot


class CannotLeave(EmufarmError):
    """The pairs of this backend cannot outlive the process that made them."""


@dataclass(frozen=True)
class FleetOrder:
    """What a run asks of its fleet, the same on every backend."""

    devices: int
    coordinator: str  # its URL, as a worker reaches it
    key: WorkerKey  # of which each worker's own secret is made
    work: Path  # a private folder that is removed after this execution
    starts: int  # in a row without a commit, before a slot is given up
    boot_s: float  # for a device to boot
    linger_s: float  # how long a device that ended waits for its worker to ask why
    noise: int | None = None  # seed of the simulated phones' noise, which differs by slot
    first_numbers: Mapping[str, int] = field(default_factory=dict)  # slot -> its first device's
    away_s: float = Limits.away_s  # for a coordinator that does not answer, before the first lease
    adopted: tuple[str, ...] = ()  # devices that a predecessor left, and that go on


class Fleet(Protocol):
    """All pairs of a run."""

    @property
    def slots(self) -> Sequence[Slot]:
        """Every slot there was, those that ended included."""
        ...

    @property
    def agents(self) -> AgentContainers | None:
        """Agents in images, where the order's run has one and this backend runs containers."""
        ...

    async def __aenter__(self) -> Self:
        """Starts all slots and does not wait for their devices: one that cannot start is reported.

        Raises OSError where the run's folder cannot be written.
        """
        ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Ends the fleet, where neither `end` nor `leave` has; raises as `end` does, unless the
        block has raised already."""
        ...

    async def ended(self) -> None:
        """Returns once no slot is alive: each has finished, was stopped or is given up.

        Raises whatever a slot did not foresee. Lost devices and workers are facts, not errors.
        """
        ...

    async def resize(self, devices: int, busy: Collection[str] = ()) -> None:
        """So many living slots: new ones start, or some are stopped and waited for.

        Slots whose device is not `busy` are stopped first; a worker that is stopped gives its lease
        back. Raises as `end` does.
        """
        ...

    def committed(self, device: str) -> None:
        """This device's worker committed an attempt: its slot counts failed starts from 0 again.
        Raises nothing; an unknown device is ignored."""
        ...

    async def end(self) -> None:
        """Workers give their leases back, then every pair is removed. A second call does nothing.

        Raises whatever a slot did not foresee, after all have ended. What a backend cannot remove
        is reported by its resources, not raised.
        """
        ...

    async def leave(self) -> None:
        """Stops watching; the pairs stay alive for a successor (`Backend.resources(adopt=True)`).

        Raises CannotLeave where pairs end with this process, as local ones do; nothing has
        changed then. Otherwise raises as `end` does.
        """
        ...


class RunResources(Protocol):
    """What a run has on a backend beside its pairs. Entered by the holder of the run's lock."""

    @property
    def host(self) -> str:
        """The address on which the coordinator listens for this backend's workers."""
        ...

    def fleet(self, order: FleetOrder, on_fact: OnFact) -> Fleet:
        """A fleet that starts when it is entered. `on_fact` is called on the event loop and must
        not block. Raises OSError where the order's work folder cannot be written, EmufarmError
        where the backend does not answer."""
        ...

    async def living(self) -> tuple[str, ...]:
        """The devices of the pairs that a predecessor left alive. Raises EmufarmError where the
        backend does not answer."""
        ...

    def staged(self, living: Collection[str]) -> list[Path]:
        """The staging folders of a predecessor's workers that do not live, where this process sees
        them. Those in the run's own folder are not among them."""
        ...

    async def describe_loss(self, device: str) -> DeviceFact:
        """Why a predecessor's pair is not at work any more. Raises EmufarmError as `living`."""
        ...

    async def salvage(self) -> bool:
        """Once the fleet has ended: brings evidence that workers sealed and did not send to the
        run's staging folder. Whether there was any. Raises nothing; trouble is notified."""
        ...


class Backend(Protocol):
    """Where devices run."""

    @property
    def name(self) -> str: ...

    def resources(
        self, run: Path, notify: Notify, *, adopt: bool = False
    ) -> AbstractAsyncContextManager[RunResources]:
        """For the run in this folder. What it left on the backend before is salvaged and removed;
        with `adopt`, living pairs stay, for a fleet whose order has their coordinator and key, and
        names them.

        Entering raises UsageError or another EmufarmError where the backend cannot be used.
        """
        ...
