"""The log buffer that `logcat` reads."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import asdict, dataclass

from .clock import Clock
from .state import Json

KEPT_LINES = 4000


@dataclass(frozen=True)
class LogLine:
    at: float  # the guest's date
    pid: int
    tid: int
    level: str  # V D I W E F
    tag: str
    text: str


class Logcat:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self._waiters: set[asyncio.Event] = set()
        self.written = 0  # lines since boot, so that a follower knows what it missed

    def write(self, tag: str, text: str, *, level: str = "I", pid: int = 1000) -> None:
        self._lines.append(LogLine(self._clock.now(), pid, pid, level, tag, text))
        self.written += 1
        for waiter in self._waiters:
            waiter.set()

    def lines(self) -> list[LogLine]:
        return list(self._lines)

    def clear(self) -> None:
        self._lines.clear()

    async def more(self) -> None:
        """Wait until a line is written."""
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        try:
            await waiter.wait()
        finally:
            self._waiters.discard(waiter)

    def save(self) -> Json:
        return [asdict(line) for line in self._lines]

    def load(self, state: Json) -> None:
        self._lines = deque((LogLine(**line) for line in state), maxlen=KEPT_LINES)
        self.written = len(self._lines)
