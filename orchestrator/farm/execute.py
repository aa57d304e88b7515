"""Executes a run: its coordinator and its fleet, until every episode is decided or none is left."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..coordinator.client import CoordinatorClient
from ..coordinator.coordinator import Coordinator
from ..coordinator.messages import DeviceLoss, DeviceStartReport
from ..coordinator.open_run import open_run
from ..coordinator.server import Secrets, listening
from ..coordinator.state import State
from ..coordinator.transitions import AttemptCommitted, Event
from ..errors import EmufarmError, RunInterrupted
from ..fleet.fact import DeviceFact
from ..fleet.local.work_folder import work_folder
from ..fleet.port import Fleet, FleetOrder, RunResources
from ..outcome import Cause
from ..worker.staging import FOLDER as STAGING
from ..worker.staging import LOCK, lock_staging, send_sealed
from .documents import record_devices, seal
from .job import Job
from .run_events import Journaled, Notice, OnEvent, RunStarted, notifier

TEXT_LIMIT = 4000  # of a fact; what a message to the coordinator may hold


async def execute(job: Job, on_event: OnEvent, interrupted: asyncio.Event) -> bool:
    """Whether every episode is decided; RunInterrupted where somebody asked it to end before."""
    secret = Secrets(secrets.token_urlsafe(24), secrets.token_urlsafe(24))
    backend = job.backend.backend
    with work_folder() as work:
        async with (
            open_run(job.run, job.plan, job.settings) as coordinator,
            backend.resources(job.run, notifier(on_event)) as resources,
            listening(coordinator, secret, resources.host) as url,
        ):
            coordinator.subscribe(lambda event: on_event(Journaled(event)))
            on_event(RunStarted(job.run, coordinator.view))
            if not coordinator.state.sealed:
                await salvage(job.run / STAGING, url, secret.worker, coordinator)
            if not coordinator.over.is_set():
                order = fleet_order(job, coordinator.state, url, secret.worker, work)
                await run_fleet(resources, order, coordinator, interrupted, on_event)
                if await resources.salvage() and coordinator.stopped is None:
                    await salvage(job.run / STAGING, url, secret.worker, coordinator)
            if coordinator.stopped is not None:
                raise EmufarmError(str(coordinator.stopped))
            if coordinator.state.finished:
                await seal(job.run, coordinator)
                return True
            await asyncio.to_thread(record_devices, job.run)
            if interrupted.is_set():
                raise RunInterrupted(f"interrupted; `emufarm resume {job.run}` goes on with it")
            return False


def fleet_order(job: Job, state: State, url: str, secret: str, work: Path) -> FleetOrder:
    """No more devices than there are episodes to decide: the others would never get a lease."""
    return FleetOrder(
        devices=min(job.devices, state.undecided),
        coordinator=url,
        secret=secret,
        work=work,
        starts=job.settings.limits.starts,
        boot_s=job.settings.limits.boot_s,
        linger_s=job.linger_s,
        noise=job.settings.noise,
        first_numbers=first_numbers(state.devices),
    )


async def run_fleet(
    resources: RunResources,
    order: FleetOrder,
    coordinator: Coordinator,
    interrupted: asyncio.Event,
    on_event: OnEvent,
) -> None:
    """Until all is decided, no slot is left, or somebody asks it to end."""
    reports = FactReports(coordinator)
    async with resources.fleet(order, reports.send) as fleet:
        coordinator.agents = fleet.agents
        coordinator.subscribe(lambda event: report_commit(fleet, event))
        ends = {
            asyncio.ensure_future(waited)
            for waited in (coordinator.over.wait(), fleet.ended(), interrupted.wait())
        }
        done, pending = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in pending:
            end.cancel()
        for end in done:
            end.result()
    await reports.sent()
    for reason in dict.fromkeys(slot.reason for slot in fleet.slots if slot.reason):
        on_event(Notice(f"device trouble: {reason}"))


def report_commit(fleet: Fleet, event: Event) -> None:
    """Does not count an attempt that infrastructure failed: its device may be broken."""
    if isinstance(event, AttemptCommitted) and not event.judgement.retried:
        fleet.committed(event.device)


async def salvage(staging: Path, url: str, secret: str, coordinator: Coordinator) -> None:
    """Commits what the workers of a killed run had sealed. Their other attempts are void, and the
    leases are given back now, not when they run out: we hold the run's lock and the workers'
    staging, so none of them is at work any more."""
    for slot in await asyncio.to_thread(lambda: sorted(staging.glob("*"))):
        with CoordinatorClient(url, secret, worker="salvage", device=slot.name) as client:
            await asyncio.to_thread(_send_held, client, slot)
    for token in list(coordinator.state.leases):
        await coordinator.give_back(token, "the run was ended while this attempt was under way")


def _send_held(client: CoordinatorClient, slot: Path) -> None:
    with lock_staging(slot):
        send_sealed(client, slot)
        if [path.name for path in slot.iterdir()] == [LOCK]:
            shutil.rmtree(slot)  # its worker is dead and all of it is sent


class FactReports:
    """Sends what the fleet saw to the coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, fact: DeviceFact) -> None:
        task = asyncio.get_running_loop().create_task(self._send(fact))
        self._sending.add(task)

    async def sent(self) -> None:
        await asyncio.gather(*self._sending)

    async def _send(self, fact: DeviceFact) -> None:
        if self._coordinator.over.is_set():
            return
        match fact.kind:
            case "device_not_started":
                note = DeviceStartReport(
                    device=fact.device, report_id=secrets.token_hex(8), event="failed",
                    phase="provision", reason=_start_reason(fact), cause=fact.cause,
                    exit_code=fact.exit_code, text=fact.text[:TEXT_LIMIT],
                )  # fmt: skip
                await self._coordinator.device(note)
            case "device_lost" | "worker_lost":
                loss = DeviceLoss(
                    device=fact.device, lost="worker" if fact.kind == "worker_lost" else "device",
                    cause=fact.cause, exit_code=fact.exit_code, text=fact.text[:TEXT_LIMIT],
                )  # fmt: skip
                await self._coordinator.device_lost(loss)
            case "slot_given_up":
                pass  # its devices' ends are in the journal


def _start_reason(fact: DeviceFact) -> str:
    return fact.kind if fact.cause is Cause.UNKNOWN else fact.cause


def first_numbers(devices: Iterable[str]) -> dict[str, int]:
    """Each slot's next device number: a resumed run goes on from the devices it had."""
    first: dict[str, int] = {}
    for name in devices:
        slot, _, number = name.rpartition(".")
        first[slot] = max(first.get(slot, 1), int(number) + 1)
    return first
