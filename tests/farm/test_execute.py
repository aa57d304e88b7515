"""What a run orders from its backend, and what it passes on between fleet and coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import pytest

from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.transitions import AttemptLost, DeviceFailed, DeviceLost, Event
from orchestrator.farm import execute as module
from orchestrator.farm.backends import ChosenBackend
from orchestrator.farm.execute import execute
from orchestrator.farm.job import Job
from orchestrator.farm.run_events import Journaled, RunEvent
from orchestrator.fleet.fact import DeviceFact, OnFact, unexplained_loss
from orchestrator.fleet.port import FleetOrder
from orchestrator.outcome import Cause
from orchestrator.pins.profile import load_profile
from orchestrator.plan.plan import Plan
from orchestrator.settings import RunSettings
from tests.coordinator.runs import INFRA, a_bundle, a_plan


@pytest.fixture(autouse=True)
def no_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """These runs have no manifest to which facts of their devices could be added."""
    monkeypatch.setattr(module, "record_devices", lambda run: None)


Deed = Callable[["Fleet"], Awaitable[None]]


@dataclass
class Fleet:
    """One without devices; its deed is what its workers and its backend do."""

    order: FleetOrder
    on_fact: OnFact
    deed: Deed
    commits: list[str]
    slots: tuple[Any, ...] = ()
    agents: None = None
    left: bool = False
    ended_pairs: bool = False
    sizes: list[tuple[int, set[str]]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        return self

    async def resize(self, devices: int, busy: set[str]) -> None:
        self.sizes.append((devices, busy))

    async def __aexit__(self, *_: object) -> None:
        self.ended_pairs = not self.left

    async def ended(self) -> None:
        await self.deed(self)

    async def leave(self) -> None:
        self.left = True

    def committed(self, device: str) -> None:
        self.commits.append(device)

    def client(self, device: str) -> CoordinatorClient:
        return CoordinatorClient(self.order.coordinator, self.order.key.secret(device), worker="w")

    async def lease(self, device: str) -> Lease:
        with self.client(device) as client:
            lease = await asyncio.to_thread(client.lease)
        assert isinstance(lease, Lease)
        return lease

    async def commit(self, device: str, **fields: str) -> None:
        lease = await self.lease(device)
        bundle = a_bundle(self.order.work / lease.token, lease, device, **fields)
        with self.client(device) as client:
            await asyncio.to_thread(client.commit, lease.token, bundle)


@dataclass
class Backend:
    """Its resources are itself."""

    deed: Deed
    orders: list[FleetOrder] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    alive: tuple[str, ...] = ()
    left: tuple[Path, ...] = ()  # staging of workers that do not live
    fleets: list[Fleet] = field(default_factory=list)
    name: str = "fake"
    host: str = "127.0.0.1"

    @asynccontextmanager
    async def resources(
        self, run: Path, notify: object, *, adopt: bool = False
    ) -> AsyncIterator[Backend]:
        yield self

    def fleet(self, order: FleetOrder, on_fact: OnFact) -> Fleet:
        self.orders.append(order)
        self.fleets.append(Fleet(order, on_fact, self.deed, self.commits))
        return self.fleets[-1]

    async def living(self) -> tuple[str, ...]:
        return self.alive

    def staged(self, living: Collection[str]) -> list[Path]:
        return list(self.left)

    async def describe_loss(self, device: str) -> DeviceFact:
        return unexplained_loss(device)

    async def salvage(self) -> bool:
        return False


def a_job(folder: Path, backend: Backend, plan: Plan, devices: int) -> Job:
    settings = RunSettings()
    for case in plan.cases:
        case.case["budget"] = {"seconds": 1}
    chosen = cast(Any, ChosenBackend(cast(Any, backend), cast(Any, None), "", ()))
    return Job(folder / "run", plan, settings, load_profile(settings.profile), chosen, devices)


def executed(
    folder: Path, backend: Backend, plan: Plan, devices: int = 1
) -> tuple[bool, list[Event]]:
    job = a_job(folder, backend, plan, devices)
    events: list[Event] = []

    def heard(event: RunEvent) -> None:
        if isinstance(event, Journaled):
            events.append(event.event)

    async def run() -> bool:
        return await execute(job, heard, asyncio.Event())

    return asyncio.run(run()), events


async def nothing(fleet: Fleet) -> None:
    return None


@pytest.mark.parametrize(("episodes", "asked", "ordered"), [(1, 50, 1), (3, 2, 2), (3, 50, 3)])
def test_no_more_devices_are_ordered_than_there_are_episodes_to_decide(
    tmp_path: Path, episodes: int, asked: int, ordered: int
) -> None:
    backend = Backend(nothing)
    complete, _ = executed(tmp_path, backend, a_plan(episodes), asked)
    assert not complete
    assert [order.devices for order in backend.orders] == [ordered]


def test_a_resumed_run_orders_no_more_devices_than_episodes_are_left(tmp_path: Path) -> None:
    async def decide_one(fleet: Fleet) -> None:
        await fleet.commit("slot-00.1")

    executed(tmp_path, Backend(decide_one), a_plan(3), 50)
    backend = Backend(nothing)
    executed(tmp_path, backend, a_plan(3), 50)
    (order,) = backend.orders
    assert (order.devices, order.first_numbers) == (2, {"slot-00": 2})


def test_a_fleet_hears_of_commits_that_speak_for_their_device(tmp_path: Path) -> None:
    """An attempt that infrastructure failed is committed too, and speaks for nothing."""

    async def commits(fleet: Fleet) -> None:
        await fleet.commit("slot-00.1")
        await fleet.commit("slot-01.1", **INFRA)

    backend = Backend(commits)
    executed(tmp_path, backend, a_plan(2))
    assert backend.commits == ["slot-00.1"]


@pytest.mark.parametrize(
    ("kind", "cause", "code", "reason"),
    [
        ("device_lost", Cause.OUT_OF_MEMORY, 137, "emulator_killed"),
        ("device_lost", Cause.CRASHED, 139, "emulator_crashed"),
        ("device_lost", Cause.EVICTED, None, "host_lost"),
        ("worker_lost", Cause.OUT_OF_MEMORY, 137, "worker_lost"),
    ],
)
def test_a_loss_keeps_its_cause_and_code_in_the_journal_and_decides_the_reason(
    tmp_path: Path, kind: Any, cause: Cause, code: int | None, reason: str
) -> None:
    async def lose(fleet: Fleet) -> None:
        await fleet.lease("slot-00.1")
        fleet.on_fact(DeviceFact("slot-00.1", kind, cause, code, "gone"))

    _, events = executed(tmp_path, Backend(lose), a_plan(1))
    (lost,) = [event for event in events if isinstance(event, DeviceLost)]
    assert (lost.device, lost.cause, lost.exit_code) == ("slot-00.1", cause, code)
    (attempt,) = [event for event in events if isinstance(event, AttemptLost)]
    assert (lost.reason, attempt.judgement.reason) == (reason, reason)


@pytest.mark.parametrize(
    ("cause", "reason"), [(Cause.CONFIG_ERROR, "config_error"), (Cause.UNKNOWN, "other")]
)
def test_a_failed_start_keeps_its_cause_and_code_and_they_name_its_reason(
    tmp_path: Path, cause: Cause, reason: str
) -> None:
    async def fail(fleet: Fleet) -> None:
        fleet.on_fact(DeviceFact("slot-00.1", "device_not_started", cause, 127, "no program"))

    _, events = executed(tmp_path, Backend(fail), a_plan(1))
    (failed,) = [event for event in events if isinstance(event, DeviceFailed)]
    assert (failed.cause, failed.exit_code, failed.reason) == (cause, 127, reason)
