"""A run that nobody writes any more, as its folder shows it; served like a coordinator's run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, Protocol

from ..plan.plan import Plan
from ..settings import Limits
from . import chain, durations
from .ledger import SegmentLength
from .notices import NoticeLog
from .observer import UNOBSERVED, RunObserver
from .state import apply, new_state
from .transitions import SealedSegment, SegmentOpened
from .view import view


class RunSource(Protocol):
    """What the admins' reading requests need: a coordinator, or the folder of a finished run."""

    @property
    def folder(self) -> Path: ...

    @property
    def notices(self) -> NoticeLog: ...

    @property
    def served_only(self) -> bool:
        """Nothing is added to it any more."""
        ...

    def view(self) -> dict[str, Any]: ...

    def segments(self) -> tuple[SegmentLength, ...]: ...

    async def journal_after(self, known: int, seconds: float) -> tuple[SegmentLength, ...]:
        """The segments, once they are longer than so many bytes; at the latest after this time."""
        ...

    def journal_bytes(self, claim: int, start: int, length: int) -> bytes: ...


class FinishedRun:
    """Read once: it makes no claim, so a coordinator may still come and go on with the run."""

    served_only = True

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        notices: NoticeLog | None = None,
        observer: RunObserver = UNOBSERVED,
    ) -> None:
        """JournalBroken where the journal is not the one that was written. `notices`: those of the
        coordinator that has just ended. `observer`: gets every transition."""
        self.folder = folder
        self.notices = notices or NoticeLog()
        self.pulled = asyncio.Event()  # somebody has all of it
        expected = durations.expectations(plan.episodes, durations.recorded_means(folder))
        self.state = new_state(plan.episodes, expected, Limits.lease_s, Limits.attempts)
        self._segments: list[SegmentLength] = []
        reader = chain.JournalReader(folder / chain.FOLDER)
        for line in reader:
            if isinstance(line.event, SegmentOpened):
                self._add(line.event.sealed)
            apply(self.state, line.event, time.monotonic())
            observer.journaled(line.event)
        self._add(reader.end.last)

    def _add(self, sealed: SealedSegment | None) -> None:
        if sealed is not None:
            self._segments.append(SegmentLength(int(Path(sealed.name).stem), sealed.length))

    def view(self) -> dict[str, Any]:
        """As a coordinator's."""
        return {**view(self.state, time.monotonic()), "stopped": None}

    def segments(self) -> tuple[SegmentLength, ...]:
        return tuple(self._segments)

    async def journal_after(self, known: int, seconds: float) -> tuple[SegmentLength, ...]:
        """At once: nothing is added any more."""
        return self.segments()

    def journal_bytes(self, claim: int, start: int, length: int) -> bytes:
        with (self.folder / chain.FOLDER / chain.segment_name(claim)).open("rb") as file:
            file.seek(start)
            return file.read(length)
