"""Bounds how fast the servers' libraries write to the log, and says how much was left out.

What they log, somebody else causes: every request that is none is a line, and a process that is out
of descriptors logs thousands of tracebacks a second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGERS = ("uvicorn.error", "asyncio")
LINES, PERIOD_S = 20, 60.0


class LineRate(logging.Filter):
    """Lets so many lines through in each period. The first line of a later period says how many
    were left out before it."""

    def __init__(
        self,
        lines: int = LINES,
        period_s: float = PERIOD_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._lines, self._period_s, self._now = lines, period_s, now
        self._since, self._count = now(), 0

    @property
    def left_out(self) -> int:
        return max(0, self._count - self._lines)

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._now()
        if now - self._since >= self._period_s:
            if self.left_out:
                record.msg = f"{record.getMessage()} ({self.left_out} lines before it left out)"
                record.args = ()
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= self._lines


@contextmanager
def bounded_log() -> Iterator[None]:
    """While its block runs; at its end the log says what was left out last."""
    rates = {name: LineRate() for name in LOGGERS}
    for name, rate in rates.items():
        logging.getLogger(name).addFilter(rate)
    try:
        yield
    finally:
        for name, rate in rates.items():
            logging.getLogger(name).removeFilter(rate)
            if rate.left_out:
                logging.getLogger(name).warning("%d lines left out", rate.left_out)
