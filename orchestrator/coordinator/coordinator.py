"""Who owns a run while it runs? One object: its ledger, its store of bundles, its lock.

Workers reach it through server.py, the fleet and the command line directly.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Literal, Self

from ..errors import EmufarmError
from ..evidence.archive import ArchiveLimits
from ..outcome import Reason
from ..plan.plan import Plan
from ..settings import RunSettings
from . import history, schedule
from .agents import Agents
from .lease import Answer, Finished, Lease, Wait
from .ledger import Ledger, Stopped
from .messages import DeviceLoss, DeviceNote, LeaseAsk
from .state import Held, new_state, renew, seen
from .store import Store
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


class LeaseEnded(EmufarmError):
    """The lease ran out, was returned or settled; its holder must stop."""


class Coordinator:
    """`async with open_run(...)`; then leases, commits and facts until it is over."""

    def __init__(
        self,
        run: Path,
        plan: Plan,
        settings: RunSettings,
        proven: Mapping[str, bool],
    ) -> None:
        expected = history.expectations(plan.episodes, history.durations(run.parent, plan.agent))
        self._limits = limits = settings.limits
        self.state = new_state(plan.episodes, expected, limits.lease_s, limits.attempts)
        self._store = Store(run, ArchiveLimits())
        self._plan = plan
        self._proven = proven
        self._opening = RunOpened(
            run=run.name,
            plan=plan.digest,
            agent=plan.agent,
            profile=plan.profile,
            episodes=len(plan.episodes),
            settings=asdict(settings),
        )
        self._ledger = Ledger(run, self.state, self._opening)
        self.agents: Agents | None = None  # where the fleet has containers for them
        self._settling: dict[str, asyncio.Event] = {}  # token -> its bundle has been stored
        self._closing = asyncio.Event()
        self._clearing: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._unpackers = ThreadPoolExecutor(_UNPACKERS, thread_name_prefix="unpack")

    async def __aenter__(self) -> Self:
        if not self.state.sealed:
            kept = (*self.state.committed.values(), *self.state.fenced.values())
            self._store.open()
            self._clearing = asyncio.create_task(self._clear({each.bundle for each in kept}))
        await self._ledger.begin()
        self._watch = asyncio.create_task(self._expire())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hang_up()
        for task in (self._watch, self._clearing):
            if task is not None:
                await task
        await asyncio.to_thread(self._unpackers.shutdown)
        self._store.close()
        await self._ledger.close()

    def hang_up(self) -> None:
        """Answer everybody who waits for a lease; the end is near."""
        self._closing.set()
        self._ledger.wake_all()

    # What workers ask for.

    async def lease(self, ask: LeaseAsk, gone: Callable[[], Awaitable[bool]]) -> Answer:
        """A lease as soon as there is one, within the time the worker waits for it.

        `gone` says whether it still does: a lease for nobody would cost an attempt.
        """
        # Half a term, so that a device that waits is never taken for one that is away.
        until = time.monotonic() + min(ask.wait, self.state.lease_s / 2)
        while True:
            self._ledger.check()
            change = self._ledger.change
            answer = await self._answer(ask)
            if not isinstance(answer, Wait):
                return answer
            left = until - time.monotonic()
            if left <= 0 or self._closing.is_set():
                return Wait(0.0) if ask.wait else answer
            await self._ledger.changed(change, left)
            if await gone():
                return answer

    async def _answer(self, ask: LeaseAsk) -> Answer:
        known = self.state.devices.get(ask.device)
        if known is not None and known.token is not None:
            await self._settled(known.token)
        now = time.monotonic()
        held = self._held_by(ask.device)
        if held is not None and held.granted.ask == ask.ask:
            renew(self.state, held.granted.token, now)
            await self._ledger.durable()
            return self._leased(held.granted)
        if self.state.sealed:
            return Finished()
        if held is not None:
            text = "its worker asked for another lease without ending this one"
            self._ledger.record(schedule.lost(held, Reason.WORKER_LOST, text))
        seen(self.state, ask.device, now)
        nonce = secrets.token_hex(8)
        decision = schedule.grant(self.state, ask.worker, ask.device, ask.ask, nonce, now)
        if not isinstance(decision, LeaseGranted):
            return decision
        self._ledger.record(decision)
        await self._ledger.durable()
        return self._leased(decision)

    def renew(self, token: str) -> float:
        """A full term; how many seconds that is."""
        self._ledger.check()
        self._known(token)
        if not renew(self.state, token, time.monotonic()):
            raise LeaseEnded(f"the lease {token} has ended")
        return self.state.lease_s

    async def give_back(self, token: str, reason: str) -> None:
        """The attempt did not happen. A lease that has ended stays ended."""
        self._ledger.check()
        self._known(token)
        await self._settled(token)
        held = self.state.leases.get(token)
        if held is None:
            raise LeaseEnded(f"the lease {token} has ended")
        self._ledger.record(schedule.returned(held, reason))
        await self._ledger.durable()

    def spool(self) -> IO[bytes]:
        """Where an upload is put while it arrives."""
        self._ledger.check()
        return self._store.spool()

    async def commit(
        self, token: str, digest: str, upload: IO[bytes]
    ) -> Literal["committed", "fenced"]:
        """Store the bundle, then write its line. Sent again, it gets the same answer."""
        if self._clearing is not None:  # a sender that goes away must not end it
            await asyncio.shield(self._clearing)
        self._ledger.check()
        granted = self._known(token)
        await self._settled(token)
        done = self.state.committed.get(token) or self.state.fenced.get(token)
        if done is not None and done.manifest == digest:
            await self._ledger.durable()
            return "committed" if token in self.state.committed else "fenced"
        if self.state.sealed or token in self.state.fenced:
            raise LeaseEnded(f"the lease {token} has ended, and its bundle cannot be kept")
        scored = token in self.state.leases
        self._settling[token] = asyncio.Event()
        try:
            take = asyncio.get_running_loop().run_in_executor(
                self._unpackers, self._store.take, upload, granted, digest, scored
            )
            stored = await take
            self._ledger.record(
                schedule.settle(self.state, token, stored.record, digest, stored.bundle)
            )
        except OSError as error:
            self.disk_failed(error)
            raise
        finally:
            self._settling.pop(token).set()
        await self._ledger.durable()
        return "committed" if scored else "fenced"

    def disk_failed(self, error: OSError) -> None:
        """Stopped, where this error says that the run's disk is full or broken."""
        self._ledger.disk_failed(error)

    # What the fleet, the command line and admins say.

    async def device(self, note: DeviceNote) -> None:
        """A device start, successful or not. Not an attempt."""
        self._ledger.check()
        known = self.state.devices.get(note.device)
        if known is not None and known.note == note.note:
            pass  # said before; its answer was lost on the way
        elif note.phase is None:
            started = DeviceStarted(
                device=note.device, note=note.note, worker=note.worker, facts=note.facts
            )
            self._ledger.record(started)
            seen(self.state, note.device, time.monotonic())
        else:
            failed = DeviceFailed(
                device=note.device,
                note=note.note,
                phase=note.phase,
                reason=note.reason,
                cause=note.cause,
                exit_code=note.exit_code,
                text=note.text,
            )
            self._ledger.record(failed)
        await self._ledger.durable()

    async def device_lost(self, loss: DeviceLoss) -> None:
        """The pair is gone: its lease ends at once, unless its bundle is here already."""
        self._ledger.check()
        held = self._held_by(loss.device)
        if held is not None and held.granted.token not in self._settling:
            self._ledger.record(schedule.lost(held, loss.reason, loss.text))
        lost = DeviceLost(
            device=loss.device,
            reason=loss.reason,
            cause=loss.cause,
            exit_code=loss.exit_code,
            text=loss.text,
        )
        self._ledger.record(lost)
        await self._ledger.durable()

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Called with every transition, on the event loop; it must not wait."""
        self._ledger.listeners.append(listener)

    def view(self) -> dict[str, Any]:
        stopped = str(self.stopped) if self.stopped else None
        return {**view(self.state, time.monotonic()), "stopped": stopped}

    @property
    def over(self) -> asyncio.Event:
        """Set when every episode is decided, or the coordinator stopped."""
        return self._ledger.over

    @property
    def stopped(self) -> EmufarmError | None:
        """Why nothing more is granted, where the run's folder cannot be written."""
        return self._ledger.stopped

    @property
    def stuck(self) -> bool:
        """Nothing goes on unless another device comes."""
        return schedule.stuck(self.state)

    async def seal(self, files: Mapping[str, str] | None = None) -> None:
        """The last line, once every episode is decided; `files` are the run's own documents, final
        by now, by their sha256."""
        if self.state.sealed:
            return
        assert self.state.finished, "a run is sealed when every episode is decided"
        decided = len(self.state.episodes)
        sealed = RunSealed(plan=self._opening.plan, decided=decided, files=dict(files or {}))
        self._ledger.record(sealed)
        await self._ledger.durable()

    # Inside.

    def _leased(self, granted: LeaseGranted) -> Lease:
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
            agent=self._plan.agent,
            expires_s=self.state.lease_s,
            limits=self._limits,
            proven=self._proven.get(case.id),
        )

    def _held_by(self, device: str) -> Held | None:
        known = self.state.devices.get(device)
        return self.state.leases[known.token] if known and known.token else None

    def _known(self, token: str) -> LeaseGranted:
        granted = self.state.granted.get(token)
        if granted is None:
            raise NoSuchLease(f"no lease {token} was granted in this run")
        return granted

    async def _settled(self, token: str) -> None:
        """Wait for a bundle of this token that is being stored; its size bounds that."""
        while (settling := self._settling.get(token)) is not None:
            await settling.wait()

    async def _clear(self, journaled: Collection[str]) -> None:
        """Beside everything but commits: a long run's folders take a while to look through."""
        try:
            await asyncio.to_thread(self._store.clear, journaled)
        except OSError as error:
            self._ledger.stop(Stopped(f"what a dead coordinator left cannot be cleared: {error}"))

    async def _expire(self) -> None:
        tick = min(1.0, self.state.lease_s / 10)
        while not self._closing.is_set() and not self.state.sealed:
            try:
                for event in schedule.expired(self.state, time.monotonic(), self._settling):
                    self._ledger.record(event)
                await self._ledger.durable()
            except Stopped:
                return  # told to everybody who asks, and to the command line by `over`
            await self._ledger.changed(self._closing, tick)
