"""The ledger applies each transition to the state and appends it to the journal, in one step.

A request may be answered once `durable` has returned. If a transition cannot be made durable, the
ledger stops: nothing more is acknowledged, and the run is resumed from what the journal holds.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import EmufarmError, UsageError
from . import chain, schedule
from .claims import Claim, ClaimLost
from .journal import Journal, JournalUnwritable
from .observer import RunObserver
from .state import State, apply
from .stored_evidence import gone, missing_evidence
from .transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    EpisodeDecided,
    Event,
    EvidenceMissing,
    LeaseGranted,
    RunOpened,
    SealedSegment,
    SegmentOpened,
    UnconfinedAgent,
)

_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class RunAlreadySealed(EmufarmError):
    """The run is sealed: nothing more is written."""


class CoordinatorStopped(EmufarmError):
    """The run's folder cannot be written, or another coordinator has claimed it, so nothing more is
    acknowledged."""


class VolumeAway(EmufarmError):
    """A bundle could not be stored now; the same upload may succeed in a moment."""


class SegmentLength(NamedTuple):
    """A segment of the journal, and how many bytes of it count."""

    claim: int
    length: int


class Ledger:
    def __init__(
        self, run: Path, state: State, opening: RunOpened, claim: Claim, observer: RunObserver,
        *, without_evidence: bool,
    ) -> None:  # fmt: skip
        """Replay the run's journal and open its next segment; a sealed run is not changed.

        UsageError if the run was opened with another plan, or if a stored bundle is missing and
        nobody said to go on `without_evidence`.
        """
        self.state = state
        self.over = asyncio.Event()  # every episode is decided, or the ledger stopped
        self.stopped: EmufarmError | None = None
        self.listeners: list[Callable[[Event], None]] = []
        self._run = run
        self._wake = asyncio.Event()  # replaced whenever it is set
        self._opening = opening
        self._claim = claim
        self._earlier: list[SegmentLength] = []
        reader = chain.JournalReader(run / chain.FOLDER, before=claim.number)
        for line in reader:
            if isinstance(line.event, RunOpened):
                self._same_plan(line.event)
            elif isinstance(line.event, SegmentOpened):
                self._add_segment(line.event.sealed)
            apply(state, line.event, time.monotonic())
            observer.journaled(line.event)
        self._add_segment(reader.end.last)
        self._journal = None
        self._missing: list[EvidenceMissing] = []
        if reader.end.sealed:
            claim.withdraw()
        else:
            self._missing = missing_evidence(run, state)
            if self._missing and not without_evidence:
                raise gone(run, self._missing)
            self._journal = Journal(run / chain.FOLDER, reader.end, claim, observer=observer)
            apply(state, self._journal.opened, time.monotonic())

    async def begin(self) -> None:
        """Record the run's first line, or the decisions that a killed coordinator left out."""
        if self._journal is not None:
            if self.state.opened is None:
                self.record(self._opening)
            for missing in self._missing:
                self.record(missing)
            self._conclude(self.state.episodes)
            await self.durable()
        if self.state.finished:
            self.over.set()

    def record(self, event: Event) -> None:
        """Apply and queue the event, then the decisions that follow from it."""
        if self._journal is None or self.state.sealed:
            raise RunAlreadySealed(f"{self._run.name} is sealed: nothing more is written")
        try:
            self._journal.queue([event])
        except (JournalUnwritable, ClaimLost) as error:
            raise self.stop(error) from error
        apply(self.state, event, time.monotonic())
        for listener in self.listeners:
            listener(event)
        if isinstance(event, AttemptLost | AttemptCommitted):
            self._conclude([event.episode])
            quarantined = schedule.quarantine_due(self.state, event.device)
            if quarantined is not None:
                self.record(quarantined)
        if self._concerns_waiting(event):
            self.wake_all()

    def _concerns_waiting(self, event: Event) -> bool:
        """Whether a request for a lease that waits may get another answer now. Thousands may wait
        while the last episodes are under way, and each one that is woken is a decision."""
        if self.state.finished:
            return True
        if isinstance(event, AttemptCommitted):
            return event.judgement.retried
        return not isinstance(
            event, LeaseGranted | UnconfinedAgent | AttemptFenced | EpisodeDecided
        )

    async def durable(self) -> None:
        """Everything recorded so far is on disk."""
        if self._journal is None:
            return
        try:
            await self._journal.durable()
        except (JournalUnwritable, ClaimLost) as error:
            raise self.stop(error) from error

    def segments(self) -> tuple[SegmentLength, ...]:
        if self._journal is None:
            return tuple(self._earlier)
        return (*self._earlier, SegmentLength(self._claim.number, self._journal.length))

    async def written(self, seconds: float) -> None:
        """Waits until the journal has grown, the ledger stopped, or the time has passed."""
        waited = self._wake if self._journal is None else self._journal.grown
        await self.changed(waited, seconds)

    def journal_bytes(self, claim: int, start: int, length: int) -> bytes:
        with (self._run / chain.FOLDER / chain.segment_name(claim)).open("rb") as file:
            file.seek(start)
            return file.read(length)

    async def require_claim(self) -> None:
        """For what is written beside the journal: CoordinatorStopped where the claim is lost."""
        try:
            await asyncio.to_thread(self._claim.check)
        except ClaimLost as error:
            raise self.stop(error) from error
        except OSError as error:
            raise self.stop(JournalUnwritable(self._run, error)) from error

    async def look_for_claim(self) -> None:
        """Between writes: CoordinatorStopped where another coordinator has claimed the run. A
        volume that does not answer now says nothing; the next write will tell."""
        try:
            await asyncio.to_thread(self._claim.check)
        except ClaimLost as error:
            raise self.stop(error) from error
        except OSError:
            return

    def disk_failed(self, error: OSError) -> CoordinatorStopped | VolumeAway:
        """A bundle could not be stored. A full or broken disk stops the ledger."""
        text = f"{self._run} cannot be written ({error.strerror})"
        if error.errno in _DISK:
            return self.stop(CoordinatorStopped(f"{text}; make room there, then resume"))
        return VolumeAway(f"{text}; the bundle may be sent again")

    def stop(self, error: EmufarmError) -> CoordinatorStopped:
        """Acknowledge nothing more; every later request gets the reason."""
        self.stopped = self.stopped or error
        self.over.set()
        self.wake_all()
        return CoordinatorStopped(str(self.stopped))

    def check(self) -> None:
        if self.stopped is not None:
            raise CoordinatorStopped(str(self.stopped))

    async def changed(self, since: asyncio.Event, seconds: float) -> None:
        """Wait until an event happened after `since` was taken, or the time has passed."""
        try:
            async with asyncio.timeout(seconds):
                await since.wait()
        except TimeoutError:
            return

    @property
    def change(self) -> asyncio.Event:
        """Set at the next transition that may make an episode leasable or end the run."""
        return self._wake

    def wake_all(self) -> None:
        self._wake.set()
        self._wake = asyncio.Event()
        if self._journal is not None:
            self._journal.wake()

    async def close(self) -> None:
        if self._journal is not None:
            await self._journal.close()

    def _add_segment(self, sealed: SealedSegment | None) -> None:
        if sealed is not None:
            self._earlier.append(SegmentLength(int(Path(sealed.name).stem), sealed.length))

    def _same_plan(self, opened: RunOpened) -> None:
        if opened.plan != self._opening.plan:
            raise UsageError(
                f"{self._run} was started with another plan ({opened.plan[:12]}, now "
                f"{self._opening.plan[:12]}): its cases, profile or flags changed; start a new run"
            )

    def _conclude(self, episodes: Iterable[str]) -> None:
        for id in episodes:
            decided = schedule.decision_due(self.state, id)
            if decided is not None:
                self.record(decided)
        if self.state.finished:
            self.over.set()
