"""Executes a run: its coordinator and its fleet, until every episode is decided or none is left.

A command ends all that it started. A lasting coordinator, on a cluster, does not: its pairs outlive
it, and whoever comes after it adopts them.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ..coordinator.client import CoordinatorClient
from ..coordinator.coordinator import Coordinator
from ..coordinator.credentials import Secrets, WorkerKey
from ..coordinator.ledger import CoordinatorStopped
from ..coordinator.messages import DeviceLoss, DeviceStartReport, slot_of
from ..coordinator.notices import NoticeLog
from ..coordinator.observer import UNOBSERVED
from ..coordinator.open_run import open_run
from ..coordinator.server import listening
from ..coordinator.state import State
from ..coordinator.transitions import AttemptCommitted, Event
from ..errors import EmufarmError, RunInterrupted
from ..events.notify import Notify
from ..fleet.fact import DeviceFact
from ..fleet.local.work_folder import work_folder
from ..fleet.port import Fleet, FleetOrder, RunResources
from ..metrics.gauges import FleetSlot, FleetView
from ..metrics.run_metrics import RunMetrics
from ..outcome import Cause, Reason
from ..secrecy import hide_this_process
from ..worker.staging import FOLDER as STAGING
from ..worker.staging import LOCK, lock_staging, send_sealed
from .documents import record_devices, seal
from .job import Job
from .recorded import created_s
from .run_events import Journaled, Notice, OnEvent, RunStarted, notifier

_MOST_SENDERS = 32  # threads; most of them wait for a folder that is in use
TEXT_LIMIT = 4000  # of a fact; what a message to the coordinator may hold


class WantedDevices:
    """How many devices a lasting run shall have, which somebody may change meanwhile."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._changed = asyncio.Event()

    def want(self, count: int) -> None:
        if count != self.count:
            self.count = count
            self._changed.set()

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()


@dataclass(frozen=True)
class Lasting:
    """For a coordinator whose pairs outlive it. Being interrupted, it leaves them; a predecessor's
    workers know these secrets and this address."""

    secrets: Secrets
    port: int  # where it listens
    advertised: str  # its URL, as a worker reaches it
    wanted: WantedDevices
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)  # ends the pairs and the run
    paused: asyncio.Event = field(
        default_factory=asyncio.Event
    )  # nothing is leased while it is set
    notices: NoticeLog = field(default_factory=NoticeLog)


async def execute(
    job: Job,
    on_event: OnEvent,
    interrupted: asyncio.Event,
    lasting: Lasting | None = None,
    metrics: RunMetrics | None = None,
    *,
    without_evidence: bool = False,
) -> bool:
    """Whether every episode is decided; RunInterrupted where somebody asked it to end before.
    `metrics`: what counts the run. `without_evidence`: go on where stored bundles are missing."""
    hide_this_process()  # it holds the key of all workers' secrets
    allowed = lasting.secrets if lasting else Secrets.new()
    backend, port = job.backend.backend, lasting.port if lasting else 0
    with work_folder() as work:
        async with (
            open_run(
                job.run,
                job.plan,
                job.settings,
                alone=not lasting,
                observer=metrics or UNOBSERVED,
                agent=job.agent,
                without_evidence=without_evidence,
            ) as coordinator,
            backend.resources(job.run, notifier(on_event), adopt=bool(lasting)) as resources,
            listening(coordinator, allowed, resources.host, port) as url,
        ):
            if lasting is not None:
                coordinator.notices, coordinator.paused = lasting.notices, lasting.paused
            if metrics is not None:
                metrics.began_s = await asyncio.to_thread(created_s, job.run)
                metrics.state, metrics.check_claim = coordinator.state, coordinator.claim.check
            coordinator.subscribe(lambda event: on_event(Journaled(event)))
            on_event(RunStarted(job.run, coordinator.view))
            living = await resources.living() if lasting else ()
            if not coordinator.state.sealed:
                staged = [*staged_slots(job.run), *resources.staged(living)]
                stays = notifier(on_event) if lasting else None
                await send_staged(staged, url, allowed.admin, stays)
                describe = resources.describe_loss if lasting else None
                await end_leases(coordinator, living, describe)
            # A predecessor that died at the very end may have left Pods: a fleet of none ends them.
            left, kept = lasting is not None and coordinator.stopped is None, False
            if left or not coordinator.over.is_set():
                reached = lasting.advertised if lasting else url
                order = fleet_order(job, coordinator.state, reached, allowed.workers, work, living)
                kept = await run_fleet(
                    resources, order, coordinator, interrupted, on_event, lasting, metrics
                )
                if await resources.salvage() and coordinator.stopped is None:
                    await send_staged(staged_slots(job.run), url, allowed.admin)
                    await end_leases(coordinator, ())
            if coordinator.stopped is not None:
                raise EmufarmError(str(coordinator.stopped))
            if coordinator.state.finished and not (kept and interrupted.is_set()):
                await seal(job.run, coordinator)
                return True
            if lasting is None:  # else its successor may be writing them
                await asyncio.to_thread(record_devices, job.run)
            if interrupted.is_set():
                raise RunInterrupted(f"interrupted; `emufarm resume {job.run}` goes on with it")
            return False


def fleet_order(
    job: Job, state: State, url: str, key: WorkerKey, work: Path, living: tuple[str, ...]
) -> FleetOrder:
    """No more devices than there are episodes to decide: the others would never get a lease."""
    return FleetOrder(
        devices=min(job.devices, state.undecided),
        coordinator=url,
        key=key,
        work=work,
        starts=job.settings.limits.starts,
        boot_s=job.settings.limits.boot_s,
        away_s=job.settings.limits.away_s,
        linger_s=job.linger_s,
        noise=job.settings.noise,
        first_numbers=first_numbers([*state.devices, *living]),
        adopted=living,
    )


async def run_fleet(
    resources: RunResources,
    order: FleetOrder,
    coordinator: Coordinator,
    interrupted: asyncio.Event,
    on_event: OnEvent,
    lasting: Lasting | None,
    metrics: RunMetrics | None = None,
) -> bool:
    """Until all is decided, no slot is left, or somebody asks it to end. Whether pairs were left
    to a successor, which ends them even where the last episode is decided a moment later."""
    reports = FactReports(coordinator)
    cancelled = [lasting.cancelled] if lasting is not None else []
    async with resources.fleet(order, reports.send) as fleet:
        coordinator.agents = fleet.agents
        if metrics is not None:
            metrics.fleet = lambda: FleetView(
                [FleetSlot(slot.device, slot.state) for slot in fleet.slots],
                lasting.wanted.count if lasting is not None else order.devices,
            )
        coordinator.subscribe(lambda event: report_commit(fleet, event))
        kept = False
        coordinator.working.set()
        try:
            if len(order.adopted) > order.devices:  # it was scaled down while nobody was there
                await fleet.resize(order.devices, busy_devices(coordinator))
            waits = [coordinator.over.wait(), _used_up(fleet, coordinator, lasting)]
            waits += [asked.wait() for asked in (interrupted, *cancelled)]
            ends = {asyncio.ensure_future(waited) for waited in waits}
            done, pending = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            coordinator.working.clear()  # the fleet's workers are asked to leave now
            for end in pending:
                end.cancel()
            for end in done:
                end.result()
        finally:
            coordinator.working.clear()
            if lasting is not None and not await _may_end(coordinator, lasting):
                kept = True
                await fleet.leave()
    await reports.sent()
    for reason in dict.fromkeys(slot.reason for slot in fleet.slots if slot.reason):
        on_event(Notice(f"device trouble: {reason}"))
    return kept


async def _may_end(coordinator: Coordinator, lasting: Lasting) -> bool:
    """Whether nobody needs the pairs any more. Where this process fails, or another coordinator
    has claimed the run, they are its successor's."""
    if not (coordinator.state.finished or lasting.cancelled.is_set()):
        return False
    try:
        await coordinator.require_claim()  # what was decided may not be on disk yet
    except CoordinatorStopped:
        return False
    return True


async def _used_up(fleet: Fleet, coordinator: Coordinator, lasting: Lasting | None) -> None:
    """Until no slot is left. A lasting run's fleet is resized meanwhile, and waits with none."""
    while lasting is not None:
        changed = asyncio.ensure_future(lasting.wanted.changed())
        ended = asyncio.ensure_future(fleet.ended())
        try:
            await asyncio.wait({changed, ended}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                ended.result()
                if lasting.wanted.count > 0 and not changed.done():
                    return
                await changed
        finally:
            ended.cancel()
            changed.cancel()
        wanted = min(lasting.wanted.count, coordinator.state.undecided)
        await fleet.resize(wanted, busy_devices(coordinator))
    await fleet.ended()


def busy_devices(coordinator: Coordinator) -> set[str]:
    return {held.granted.device for held in coordinator.state.leases.values()}


def report_commit(fleet: Fleet, event: Event) -> None:
    """Does not count an attempt that infrastructure failed: its device may be broken."""
    if isinstance(event, AttemptCommitted) and not event.judgement.retried:
        fleet.committed(event.device)


def staged_slots(run: Path) -> list[Path]:
    return sorted((run / STAGING).glob("*"))


async def send_staged(
    slots: Iterable[Path], url: str, admin: str, stays: Notify | None = None
) -> None:
    """Commits what workers that are dead had sealed.

    `stays` is notified of what cannot be sent now, such as the staging of a worker that outlives
    its Pod on a node that nobody reaches; without it that is an error.
    """

    def send(slot: Path) -> None:
        with CoordinatorClient(url, admin, worker="salvage") as client:
            _send_held(client, slot)

    if not (found := list(slots)):
        return
    # Together: a folder that is in use is waited for, and there may be one for each device. In
    # threads of its own: the loop's are needed for the commits that these wait for.
    senders = ThreadPoolExecutor(min(len(found), _MOST_SENDERS), thread_name_prefix="staged")
    try:
        loop = asyncio.get_running_loop()
        sent = [loop.run_in_executor(senders, send, slot) for slot in found]
        troubles = await asyncio.gather(*sent, return_exceptions=True)
    finally:
        senders.shutdown(wait=False, cancel_futures=True)
    for slot, trouble in zip(found, troubles, strict=True):
        if isinstance(trouble, EmufarmError | OSError) and stays is not None:
            stays(f"what the worker of {slot.name} had sealed stays in {slot}: {trouble}")
        elif isinstance(trouble, BaseException):
            raise trouble


async def end_leases(
    coordinator: Coordinator,
    living: Collection[str],
    describe: Callable[[str], Awaitable[DeviceFact]] | None = None,
) -> None:
    """Ends the leases of a predecessor's workers, except of those that live: now, and not when they
    run out.

    A command holds the run's lock and its workers' staging, so none of them is at work any more:
    their attempts never happened. On a cluster a device that is gone while its coordinator was away
    was lost, as it would have been before its eyes; `describe` says why.
    """
    for held in list(coordinator.state.leases.values()):
        token, device = held.granted.token, held.granted.device
        if describe is None:
            await coordinator.give_back(token, "the run was ended while this attempt was under way")
        elif device not in living:
            await coordinator.device_lost(device_loss(await describe(device)))


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
                    report_id=secrets.token_hex(8), event="failed", phase="provision",
                    reason=start_reason(fact.cause), cause=fact.cause, exit_code=fact.exit_code,
                    text=fact.text[:TEXT_LIMIT],
                )  # fmt: skip
                await self._coordinator.device(fact.device, note)
            case "device_lost" | "worker_lost":
                await self._coordinator.device_lost(device_loss(fact))
            case "slot_given_up":
                pass  # its devices' ends are in the journal


def device_loss(fact: DeviceFact) -> DeviceLoss:
    return DeviceLoss(
        device=fact.device, lost="worker" if fact.kind == "worker_lost" else "device",
        cause=fact.cause, exit_code=fact.exit_code, text=fact.text[:TEXT_LIMIT],
    )  # fmt: skip


def start_reason(cause: Cause) -> str:
    """What a failed start is counted under; `other` is what its backend did not classify."""
    return Reason.OTHER.value if cause is Cause.UNKNOWN else cause.value


def first_numbers(devices: Iterable[str]) -> dict[str, int]:
    """Each slot's next device number: a resumed run goes on from the devices it had."""
    first: dict[str, int] = {}
    for name in devices:
        slot, number = slot_of(name), int(name.rpartition(".")[2])
        first[slot] = max(first.get(slot, 1), number + 1)
    return first
