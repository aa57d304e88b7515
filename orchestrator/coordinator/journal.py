"""How does a transition become durable? Lines appended, synced in groups.

`append` orders its lines at once and returns when they are on disk; while one sync runs, what
arrives waits for the next, so a hundred commits cost two syncs. A segment appears whole: its first
line is synced before the file has its name. After a failed write nothing more is written: what was
not acknowledged is read, or cut, at the next start.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import EmufarmError
from ..evidence.manifest import sync_folder
from .chain import End, encode, head_after, segment_name
from .transitions import Event, SegmentOpened


class JournalUnwritable(EmufarmError):
    """Nothing can be written down any more, so nothing more may be promised."""

    def __init__(self, path: Path, error: OSError) -> None:
        why = error.strerror or type(error).__name__
        super().__init__(f"{path} cannot be written ({why}); make room there, then resume the run")


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Journal:
    """The open last segment. One event loop, one owner."""

    def __init__(self, folder: Path, end: End, now_ms: Callable[[], int] = wall_ms) -> None:
        """Open the next segment after this end, sealing the last one."""
        self.path = folder / segment_name(end.segments + 1)
        self._now_ms = now_ms
        self._seq = end.count
        self._head = end.head
        self._queued: list[bytes] = []
        self._flusher: asyncio.Task[None] | None = None
        self.failure: JournalUnwritable | None = None
        self.opened = SegmentOpened(sealed=end.last)
        self._file = self._create(self._encode(self.opened))
        self._synced = self._seq

    def _create(self, first: bytes) -> int:
        unfinished = self.path.with_suffix(".part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            file = os.open(unfinished, flags, 0o644)
            try:
                _write(file, first)
                unfinished.rename(self.path)
                sync_folder(self.path.parent)
                sync_folder(self.path.parent.parent)
            except BaseException:
                os.close(file)
                raise
        except OSError as error:
            raise JournalUnwritable(self.path, error) from error
        return file

    def queue(self, events: Sequence[Event]) -> None:
        """Give the events their place; nothing is promised before the next `durable`."""
        if self.failure is not None:
            raise self.failure
        self._queued += [self._encode(event) for event in events]

    async def durable(self) -> None:
        """Everything queued so far is on disk, or JournalUnwritable."""
        wanted = self._seq
        while self._synced < wanted:
            if self.failure is not None:
                raise self.failure
            if self._flusher is None:
                self._flusher = asyncio.create_task(self._flush())
            # A caller that goes away must not take the others' sync with it.
            await asyncio.shield(self._flusher)

    async def append(self, events: Sequence[Event]) -> None:
        self.queue(events)
        await self.durable()

    async def close(self) -> None:
        """What is queued, written; then no more. After a failure there is nothing to write."""
        try:
            if self.failure is None:
                await self.durable()
        finally:
            os.close(self._file)

    async def _flush(self) -> None:
        lines, self._queued = self._queued, []
        reached = self._seq
        try:
            await asyncio.to_thread(_write, self._file, b"".join(lines))
            self._synced = reached
        except OSError as error:
            self.failure = JournalUnwritable(self.path, error)
        finally:
            self._flusher = None

    def _encode(self, event: Event) -> bytes:
        line = encode(self._seq + 1, self._now_ms(), self._head, event)
        self._seq += 1
        self._head = head_after(line)
        return line


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
    os.fdatasync(file)
