"""Writes the journal: appends lines to its open segment and syncs them in groups.

`append` orders its lines at once and returns when they are on disk. Lines that arrive while a sync
runs wait for the next one, so a hundred commits cost two syncs. After a sync a later claim is
looked for (claims.py). After a failed write, or where there is one, nothing more is written; lines
that were not acknowledged are read, or cut, at the next start.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import EmufarmError
from ..files import sync_folder
from .chain import JournalEnd, encode, head_after, segment_name
from .claims import Claim, ClaimLost
from .observer import UNOBSERVED, RunObserver
from .transitions import Event, SealedSegment, SegmentOpened


class JournalUnwritable(EmufarmError):
    """The journal cannot be written, so nothing more may be acknowledged."""

    def __init__(self, path: Path, error: OSError) -> None:
        why = error.strerror or type(error).__name__
        super().__init__(f"{path} cannot be written ({why}); make room there, then resume the run")


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Journal:
    """The open last segment. One event loop uses it, and one owner."""

    def __init__(
        self,
        folder: Path,
        end: JournalEnd,
        claim: Claim,
        now_ms: Callable[[], int] = wall_ms,
        observer: RunObserver = UNOBSERVED,
    ) -> None:
        """Open this claim's segment after this end, and seal the one before. The observer gets each
        event once it is on disk, the first one of this segment included."""
        self.path = folder / segment_name(claim.number)
        self._claim = claim
        self._now_ms = now_ms
        self._seq = end.count
        self._head = end.head
        self._observer = observer
        self._queued: list[bytes] = []
        self._queued_events: list[Event] = []
        self._flusher: asyncio.Task[None] | None = None
        self.failure: JournalUnwritable | ClaimLost | None = None
        self.opened = SegmentOpened(claim=claim.number, sealed=end.last)
        first = self._encode(self.opened)
        self._sync_last(end.last)
        self._file = self._create(first)
        self._synced = self._seq
        self.length = len(first)  # bytes that were synced and may be acknowledged
        self.grown = asyncio.Event()  # replaced whenever it is set
        observer.journaled(self.opened)

    def _sync_last(self, last: SealedSegment | None) -> None:
        """The segment before this one was read, perhaps, from memory: a coordinator that was killed
        between a write and its sync has left it there. Now it will be sealed and acknowledged."""
        if last is None:
            return
        path = self.path.with_name(last.name)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise JournalUnwritable(path, error) from error

    def _create(self, first: bytes) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            file = os.open(self.path, flags, 0o644)
            try:
                self._write(file, first)
                sync_folder(self.path.parent)
                sync_folder(self.path.parent.parent)
            except BaseException:
                os.close(file)
                raise
        except OSError as error:
            raise JournalUnwritable(self.path, error) from error
        return file

    def _write(self, file: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
        os.fdatasync(file)
        self._claim.check()

    def queue(self, events: Sequence[Event]) -> None:
        """Order the events; nothing may be acknowledged before the next `durable`."""
        if self.failure is not None:
            raise self.failure
        self._queued += [self._encode(event) for event in events]
        self._queued_events += events

    async def durable(self) -> None:
        """Wait until everything queued so far is on disk and may be acknowledged; or raise
        JournalUnwritable or ClaimLost."""
        wanted = self._seq
        while self._synced < wanted:
            if self.failure is not None:
                raise self.failure
            if self._flusher is None:
                self._flusher = asyncio.create_task(self._flush())
            # A caller that is cancelled must not cancel the sync that others wait for.
            await asyncio.shield(self._flusher)

    async def append(self, events: Sequence[Event]) -> None:
        self.queue(events)
        await self.durable()

    def wake(self) -> None:
        """Whoever waits for the journal to grow looks again."""
        self.grown.set()
        self.grown = asyncio.Event()

    async def close(self) -> None:
        """Write what is queued and close the segment. After a failure nothing is written."""
        try:
            if self.failure is None:
                await self.durable()
        finally:
            os.close(self._file)

    async def _flush(self) -> None:
        data, self._queued = b"".join(self._queued), []
        events, self._queued_events = self._queued_events, []
        reached, began = self._seq, time.perf_counter()
        try:
            await asyncio.to_thread(self._write, self._file, data)
            self._synced = reached
            self.length += len(data)
            self._observer.synced(time.perf_counter() - began)
            for event in events:
                self._observer.journaled(event)
            self.wake()
        except OSError as error:
            self.failure = JournalUnwritable(self.path, error)
        except ClaimLost as error:
            self.failure = error
        finally:
            self._flusher = None

    def _encode(self, event: Event) -> bytes:
        line = encode(self._seq + 1, self._now_ms(), self._head, event)
        self._seq += 1
        self._head = head_after(line)
        return line
