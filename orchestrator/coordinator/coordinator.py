"""The coordinator of a run: grants and renews leases, takes commits, device reports and losses.

Workers reach it through server.py; the fleet and the command line call it directly.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Literal, Self

from ..agent.spec import image_of
from ..errors import EmufarmError
from ..evidence.archive import ArchiveLimits
from ..outcome import Reason
from ..plan.plan import Plan
from ..settings import RunSettings
from . import durations, schedule
from .bundle_store import BundleStore
from .claims import Claim
from .ledger import CoordinatorStopped, Ledger, SegmentLength, VolumeAway
from .messages import (
    AgentContainers,
    DeviceLoss,
    DeviceStartReport,
    Lease,
    LeaseAnswer,
    LeaseRequest,
    NothingToLease,
    RunFinished,
    slot_of,
)
from .notices import NoticeLog
from .observer import RunObserver
from .state import OpenLease, mark_seen, new_state, renew
from .transitions import (
    DeviceFailed,
    DeviceLost,
    DeviceStarted,
    Event,
    LeaseGranted,
    RunOpened,
    RunSealed,
)
from .view import view

_UNPACKERS = 8  # they wait for the disk more than they compute, and share its syncs


class NoSuchLease(EmufarmError):
    """The token was never granted in this run."""


class NotYourLease(EmufarmError):
    """The token was granted to another device."""


class LeaseEnded(EmufarmError):
    """The lease expired, was returned or was settled; its holder must stop."""


class Coordinator:
    """Made by open_run, as an async context manager; owns the run's ledger and bundle store."""

    served_only = False

    def __init__(
        self,
        run: Path,
        plan: Plan,
        settings: RunSettings,
        proven: Mapping[str, bool],
        claim: Claim,
        *,
        alone: bool,
        observer: RunObserver,
        agent: str = "",
        without_evidence: bool,
    ) -> None:
        self.folder = run
        self.claim = claim
        self._agent = agent or plan.agent  # as workers start it
        self._observer = observer
        expected = durations.expectations(plan.episodes, durations.recorded_means(run))
        self._limits = limits = settings.limits
        self._agent_ports = settings.agent_ports
        self.state = new_state(plan.episodes, expected, limits.lease_s, limits.attempts)
        self._store = BundleStore(run, claim.number, ArchiveLimits())
        self._alone = alone  # no predecessor can still be at work
        self._plan = plan
        self._proven = proven
        self._opening = RunOpened(
            run=run.name, plan=plan.digest, agent=plan.agent, profile=plan.profile,
            episodes=len(plan.episodes), settings=asdict(settings),
        )  # fmt: skip
        self._ledger = Ledger(
            run, self.state, self._opening, claim, observer, without_evidence=without_evidence
        )
        self.agents: AgentContainers | None = None  # of a fleet that can run containers
        self.notices = NoticeLog()
        self.paused = asyncio.Event()  # set while nothing more is leased, as the disk is filling up
        # Set while a fleet works for the run: whoever gives a lease back was not asked to.
        self.working = asyncio.Event()
        self._storing: dict[str, asyncio.Event] = {}  # token -> set once its bundle is stored
        self._closing = asyncio.Event()
        self._expiring: asyncio.Task[None] | None = None
        self._unpackers = ThreadPoolExecutor(_UNPACKERS, thread_name_prefix="unpack")

    async def __aenter__(self) -> Self:
        if not self.state.sealed:
            self._store.open(alone=self._alone)
        await self._ledger.begin()
        self._expiring = asyncio.create_task(self._expire())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hang_up()
        if self._expiring is not None:
            await self._expiring
        await asyncio.to_thread(self._unpackers.shutdown)
        self._store.close()
        await self._ledger.close()

    def hang_up(self) -> None:
        """Answer every lease request that is waiting; the coordinator is about to close."""
        self._closing.set()
        self._ledger.wake_all()

    # Requests of workers.

    async def lease(
        self, device: str, request: LeaseRequest, disconnected: Callable[[], Awaitable[bool]]
    ) -> LeaseAnswer:
        """A lease as soon as there is one, within the time that the worker waits.

        Nothing is granted to a worker that has disconnected: such a lease would cost an attempt.
        """
        # At most half a term, so that a device that waits still counts as live.
        until = time.monotonic() + min(request.wait, self.state.lease_s / 2)
        while True:
            self._ledger.check()
            change = self._ledger.change
            answer = await self._answer(device, request)
            if not isinstance(answer, NothingToLease):
                return answer
            left = until - time.monotonic()
            if left <= 0 or self._closing.is_set():
                return NothingToLease(0.0) if request.wait else answer
            await self._ledger.changed(change, left)
            if await disconnected():
                return answer

    async def _answer(self, device: str, request: LeaseRequest) -> LeaseAnswer:
        known = self.state.devices.get(device)
        if known is not None and known.token is not None:
            await self._stored(known.token)
        now = time.monotonic()
        held = self._lease_of(device)
        if held is not None and held.granted.request_id == request.request_id:
            renew(self.state, held.granted.token, now)
            await self._ledger.durable()
            return self._as_lease(held.granted)
        if self.state.sealed:
            await self._ledger.durable()
            return RunFinished()
        if held is not None:
            text = "its worker asked for another lease without ending this one"
            self._ledger.record(schedule.attempt_lost(held, Reason.WORKER_LOST, text, now))
        mark_seen(self.state, device, now)
        if self.paused.is_set() and not self.state.finished:
            return NothingToLease(self.state.lease_s / 2)
        decision = schedule.grant(
            self.state, request.worker, device, request.request_id, secrets.token_hex(8), now
        )
        if isinstance(decision, LeaseGranted):
            self._ledger.record(decision)
        if not isinstance(decision, NothingToLease):
            await self._ledger.durable()  # a worker leaves for good where all is decided
        return self._as_lease(decision) if isinstance(decision, LeaseGranted) else decision

    def require_holder(self, token: str, device: str) -> None:
        """NotYourLease where the lease was granted to another device."""
        if self._granted(token).device != device:
            raise NotYourLease(f"the lease {token} was not granted to {device}")

    def require_slot(self, token: str, device: str) -> None:
        """NotYourLease where the lease was granted to a device of another slot: a worker sends what
        the workers before it in its slot had sealed."""
        if slot_of(self._granted(token).device) != slot_of(device):
            raise NotYourLease(f"the lease {token} was not granted to a device in {device}'s slot")

    def renew(self, token: str) -> float:
        """Give the lease a full term, and return its seconds."""
        self._ledger.check()
        self._granted(token)
        if not renew(self.state, token, time.monotonic()):
            raise LeaseEnded(f"the lease {token} has ended")
        return self.state.lease_s

    async def unconfined(self, token: str) -> None:
        """The holder of this lease is about to start an agent that can reach it."""
        self._ledger.check()
        self._granted(token)
        held = self.state.leases.get(token)
        if held is None:
            raise LeaseEnded(f"the lease {token} has ended")
        if not held.unconfined:
            self._ledger.record(schedule.unconfined_agent(held))
        await self._ledger.durable()

    async def give_back(self, token: str, reason: str) -> None:
        """The attempt did not happen. A lease that has ended stays ended. An agent that can reach
        its worker could ask it to leave, so an attempt with such an agent is lost, not returned,
        where the run itself does not end."""
        self._ledger.check()
        self._granted(token)
        await self._stored(token)
        held = self.state.leases.get(token)
        if held is None:
            raise LeaseEnded(f"the lease {token} has ended")
        if held.unconfined and self.working.is_set():
            text, now = f"its worker left unasked: {reason}", time.monotonic()
            self._ledger.record(schedule.attempt_lost(held, Reason.WORKER_LOST, text, now))
        else:
            self._ledger.record(schedule.lease_returned(held, reason))
        await self._ledger.durable()

    def spool(self) -> IO[bytes]:
        """A temporary file for an upload that is arriving."""
        self._ledger.check()
        return self._store.spool()

    async def commit(
        self, token: str, digest: str, upload: IO[bytes]
    ) -> Literal["committed", "fenced"]:
        """Store the bundle, then journal it. The same commit, repeated, gets the same answer."""
        self._ledger.check()
        granted = self._granted(token)
        await self._stored(token)
        done = self.state.committed.get(token) or self.state.fenced.get(token)
        if done is not None and done.manifest == digest:
            await self._ledger.durable()
            return "committed" if token in self.state.committed else "fenced"
        if self.state.sealed or token in self.state.fenced:
            raise LeaseEnded(f"the lease {token} has ended, and its bundle cannot be kept")
        scored, began = token in self.state.leases, time.monotonic()
        self._storing[token] = asyncio.Event()
        try:
            stored = await asyncio.get_running_loop().run_in_executor(
                self._unpackers, self._store.take, upload, granted, digest, scored
            )
            self._ledger.record(
                schedule.bundle_stored(
                    self.state, token, stored.record, digest, stored.bundle, stored.size
                )
            )
        except OSError as error:
            raise self.disk_failed(error) from error
        finally:
            self._storing.pop(token).set()
        await self._ledger.durable()
        self._observer.committed(time.monotonic() - began)
        return "committed" if scored else "fenced"

    def disk_failed(self, error: OSError) -> CoordinatorStopped | VolumeAway:
        """The error to raise where a bundle could not be written."""
        return self._ledger.disk_failed(error)

    # Reports of workers and of the fleet.

    async def device(self, device: str, report: DeviceStartReport) -> None:
        """A device start, successful or not. It is no attempt."""
        self._ledger.check()
        known = self.state.devices.get(device)
        if known is not None and known.report_id == report.report_id:
            pass  # repeated: its answer was lost on the way
        elif report.phase is None:
            started = DeviceStarted(
                device=device, report_id=report.report_id, worker=report.worker,
                boot_s=report.boot_s, facts=report.facts,
            )  # fmt: skip
            self._ledger.record(started)
            mark_seen(self.state, device, time.monotonic())
        else:
            failed = DeviceFailed(
                device=device, report_id=report.report_id, phase=report.phase,
                reason=report.reason, cause=report.cause, exit_code=report.exit_code,
                text=report.text,
            )  # fmt: skip
            self._ledger.record(failed)
        await self._ledger.durable()

    async def device_lost(self, loss: DeviceLoss) -> None:
        """A device or its worker is gone: its lease ends at once, unless its bundle is here."""
        self._ledger.check()
        held = self._lease_of(loss.device)
        if held is not None and held.granted.token not in self._storing:
            now = time.monotonic()
            self._ledger.record(
                schedule.attempt_lost(held, loss.reason, loss.text, now, loss.cause)
            )
        lost = DeviceLost(
            device=loss.device, reason=loss.reason, cause=loss.cause, exit_code=loss.exit_code,
            text=loss.text,
        )  # fmt: skip
        self._ledger.record(lost)
        await self._ledger.durable()

    def agent_containers(self) -> AgentContainers | None:
        """None where the run's agent needs none. CoordinatorStopped, upon which a worker asks
        again, where it does and the fleet that has them is not up yet: workers may be older than
        their coordinator."""
        if self.agents is None and image_of(self._plan.agent):
            raise CoordinatorStopped("the run's fleet is not up yet, which has the agents")
        return self.agents

    # What the application reads and decides.

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """The listener is called with every transition, on the event loop; it must not block."""
        self._ledger.listeners.append(listener)

    def segments(self) -> tuple[SegmentLength, ...]:
        """The journal's, with as many bytes of the last one as were acknowledged."""
        return self._ledger.segments()

    async def journal_after(self, known: int, seconds: float) -> tuple[SegmentLength, ...]:
        """The segments, once they are longer than so many bytes; at the latest after this time."""
        until = time.monotonic() + seconds
        while True:
            segments, left = self.segments(), until - time.monotonic()
            longer = sum(segment.length for segment in segments) > known
            if longer or left <= 0 or self._closing.is_set():
                return segments
            await self._ledger.written(left)

    def journal_bytes(self, claim: int, start: int, length: int) -> bytes:
        return self._ledger.journal_bytes(claim, start, length)

    def view(self) -> dict[str, Any]:
        stopped = str(self.stopped) if self.stopped else None
        own = {"stopped": stopped, "claim": self.claim.number}
        return {**view(self.state, time.monotonic()), **own}

    @property
    def over(self) -> asyncio.Event:
        """Set when every episode is decided, or the coordinator stopped."""
        return self._ledger.over

    @property
    def stopped(self) -> EmufarmError | None:
        """Why nothing more is granted: the run's folder cannot be written, or is another's now."""
        return self._ledger.stopped

    @property
    def stuck(self) -> bool:
        """No progress is possible unless another device comes."""
        return schedule.stuck(self.state)

    async def require_claim(self) -> None:
        """What was decided is on disk, and the run is still this coordinator's; else
        CoordinatorStopped."""
        self._ledger.check()
        await self._ledger.durable()
        await self._ledger.require_claim()

    async def seal(self, files: Mapping[str, str] | None = None) -> None:
        """Write the journal's last line, once every episode is decided. `files` are the sha256 of
        the run's own documents, which do not change any more."""
        if self.state.sealed:
            return
        assert self.state.finished, "a run is sealed when every episode is decided"
        decided = len(self.state.episodes)
        sealed = RunSealed(plan=self._opening.plan, decided=decided, files=dict(files or {}))
        self._ledger.record(sealed)
        await self._ledger.durable()

    # Internals.

    def _as_lease(self, granted: LeaseGranted) -> Lease:
        episode = self.state.episodes[granted.episode]
        case = self._plan.case(episode.case)
        return Lease(
            token=granted.token,
            episode=granted.episode,
            attempt=granted.attempt,
            seed=episode.seed,
            variant=episode.variant,
            case=case.case,
            site=case.site,
            agent=self._agent,
            expires_s=self.state.lease_s,
            limits=self._limits,
            proven=self._proven.get(case.id),
            agent_ports=self._agent_ports,
        )

    def _lease_of(self, device: str) -> OpenLease | None:
        known = self.state.devices.get(device)
        return self.state.leases[known.token] if known and known.token else None

    def _granted(self, token: str) -> LeaseGranted:
        granted = self.state.granted.get(token)
        if granted is None:
            raise NoSuchLease(f"no lease {token} was granted in this run")
        return granted

    async def _stored(self, token: str) -> None:
        """Wait until a bundle of this token that is being stored is stored; its size bounds it."""
        while (storing := self._storing.get(token)) is not None:
            await storing.wait()

    async def _expire(self) -> None:
        tick = min(1.0, self.state.lease_s / 10)
        while not self._closing.is_set() and not self.state.sealed:
            try:
                for event in schedule.expired(self.state, time.monotonic(), self._storing):
                    self._ledger.record(event)
                await self._ledger.durable()
                await self._ledger.look_for_claim()  # renewals write nothing, and would not find it
            except CoordinatorStopped:
                return  # every caller gets the reason, and the application through `over`
            await self._ledger.changed(self._closing, tick)
