"""A run, executed: coordinator, API, fleet, until every episode is decided or nothing goes on."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from ..coordinator.client import CoordinatorClient
from ..coordinator.coordinator import Coordinator
from ..coordinator.messages import DeviceLoss, DeviceStartReport
from ..coordinator.open_run import open_run
from ..coordinator.server import Secrets, listening
from ..errors import EmufarmError
from ..fleet.docker.owner import STAGING
from ..fleet.fact import Fact
from ..fleet.local.work_folder import work_folder
from ..outcome import exit_cause
from ..worker.staging import LOCK, locked_staging, send_sealed
from .grounds import Ground, Reached, ground_of
from .interruption import RunInterrupted
from .job import Job
from .run_events import Journaled, Notice, OnEvent, RunStarted
from .sealing import record_devices, seal


async def execute(job: Job, on_event: OnEvent, interrupted: asyncio.Event) -> bool:
    """Whether every episode is decided; RunInterrupted where somebody asked it to end before."""
    words = Secrets(secrets.token_urlsafe(24), secrets.token_urlsafe(24))
    with work_folder() as work:
        async with (
            open_run(job.run, job.plan, job.settings) as coordinator,
            ground_of(job, lambda line: on_event(Notice(line))) as ground,
            listening(coordinator, words, ground.host) as url,
        ):
            coordinator.subscribe(lambda event: on_event(Journaled(event)))
            on_event(RunStarted(job.run, coordinator.view))
            if not coordinator.state.sealed:
                await salvage(job.run / STAGING, url, words.worker, coordinator)
            if not coordinator.over.is_set():
                first = first_numbers(coordinator.state.devices)
                reached = Reached(url, words.worker, work, first)
                await attended(ground, reached, coordinator, interrupted, on_event)
                if await ground.salvage() and coordinator.stopped is None:
                    await salvage(job.run / STAGING, url, words.worker, coordinator)
            if coordinator.stopped is not None:
                raise EmufarmError(str(coordinator.stopped))
            if coordinator.state.finished:
                await seal(job.run, coordinator)
                return True
            await asyncio.to_thread(record_devices, job.run)
            if interrupted.is_set():
                raise RunInterrupted(f"interrupted; `emufarm resume {job.run}` goes on with it")
            return False


async def attended(
    ground: Ground,
    reached: Reached,
    coordinator: Coordinator,
    interrupted: asyncio.Event,
    on_event: OnEvent,
) -> None:
    """A fleet, until all is decided, none of it is left, or somebody asks it to end."""
    reports = Reports(coordinator)
    async with ground.fleet(reached, reports.hear) as fleet:
        coordinator.agents = fleet.agents
        ends = {
            asyncio.ensure_future(waited)
            for waited in (coordinator.over.wait(), fleet.ended(), interrupted.wait())
        }
        done, pending = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in pending:
            end.cancel()
        for end in done:
            end.result()
    await reports.told()
    for reason in dict.fromkeys(slot.reason for slot in fleet.slots if slot.reason):
        on_event(Notice(f"device trouble: {reason}"))


async def salvage(staging: Path, url: str, secret: str, coordinator: Coordinator) -> None:
    """What the workers of a killed run had sealed is committed; what they were at is void, and its
    leases are free now and not when they run out: we hold the run's lock and their staging, so
    none of them is at work any more."""
    for slot in await asyncio.to_thread(lambda: sorted(staging.glob("*"))):
        with CoordinatorClient(url, secret, worker="salvage", device=slot.name) as client:
            await asyncio.to_thread(_send_held, client, slot)
    for token in list(coordinator.state.leases):
        await coordinator.give_back(token, "the run was ended while this attempt was under way")


def _send_held(client: CoordinatorClient, slot: Path) -> None:
    with locked_staging(slot):
        send_sealed(client, slot)
        if [path.name for path in slot.iterdir()] == [LOCK]:
            shutil.rmtree(slot)  # nothing more is to come from it


class Reports:
    """What the fleet saw, on its way to the coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._sending: set[asyncio.Task[None]] = set()

    def hear(self, fact: Fact) -> None:
        task = asyncio.get_running_loop().create_task(self._send(fact))
        self._sending.add(task)

    async def told(self) -> None:
        await asyncio.gather(*self._sending)

    async def _send(self, fact: Fact) -> None:
        if self._coordinator.over.is_set():
            return
        match fact.kind:
            case "device_not_started":
                note = DeviceStartReport(
                    device=fact.device, report_id=secrets.token_hex(8), event="failed",
                    phase="provision", reason=fact.kind, cause=exit_cause(fact.exit_code),
                    exit_code=fact.exit_code, text=fact.text[:4000],
                )  # fmt: skip
                await self._coordinator.device(note)
            case "device_lost":
                await self._lost(fact, "device")
            case "worker_lost":
                await self._lost(fact, "worker")
            case "slot_given_up":
                pass  # shown by the progress; its devices' ends are in the journal

    async def _lost(self, fact: Fact, lost: Literal["device", "worker"]) -> None:
        loss = DeviceLoss(
            device=fact.device, lost=lost, cause=exit_cause(fact.exit_code),
            exit_code=fact.exit_code, text=fact.text[:4000],
        )  # fmt: skip
        await self._coordinator.device_lost(loss)


def first_numbers(devices: Iterable[str]) -> dict[str, int]:
    """On a resumed run a slot's devices count on from those it had."""
    first: dict[str, int] = {}
    for name in devices:
        slot, _, number = name.rpartition(".")
        first[slot] = max(first.get(slot, 1), int(number) + 1)
    return first
