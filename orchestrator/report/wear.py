"""Counts infrastructure's failures by the age of the emulator: its loads, and the time it was up.

Emulators wear out. After how many loads they do is seen here, and `loads` in a profile restarts
them before. An attempt that was lost without a bundle has no age of its own; its loads are counted
from the leases that its device was given since it last started.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict

from ..coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceStarted,
    Event,
    LeaseGranted,
)
from ..outcome import Outcome
from .model import WearRow

LOADS = (0, 1, 5, 10, 20, 40, 80)  # where a row begins
SECONDS = (0, 300, 900, 1800, 3600, 7200, 14400)


class WearCounts:
    """Takes every event of a journal in order."""

    def __init__(self) -> None:
        self._leases: defaultdict[str, int] = defaultdict(int)  # of each device since it started
        self._loads: Counter[tuple[int, bool]] = Counter()  # by row, and whether it failed
        self._seconds: Counter[tuple[int, bool]] = Counter()

    def add(self, event: Event) -> None:
        match event:
            case LeaseGranted():
                self._leases[event.device] += 1
            case AttemptCommitted() | AttemptLost():
                self._end(event)
            case DeviceStarted():
                self._leases[event.device] = 0

    def _end(self, event: AttemptCommitted | AttemptLost) -> None:
        failed = event.judgement.outcome is Outcome.INFRA_FAILED
        age = event.age if isinstance(event, AttemptCommitted) else None
        loads = max(0, self._leases[event.device] - 1) if age is None else age.loads
        self._loads[bisect_right(LOADS, loads), failed] += 1
        if age is not None:
            self._seconds[bisect_right(SECONDS, age.seconds), failed] += 1

    def by_loads(self) -> tuple[WearRow, ...]:
        return _rows(LOADS, self._loads)

    def by_seconds(self) -> tuple[WearRow, ...]:
        """Of attempts whose bundle says how long the emulator had been up."""
        return _rows(SECONDS, self._seconds)


def _rows(bounds: tuple[int, ...], counted: Counter[tuple[int, bool]]) -> tuple[WearRow, ...]:
    """Those that have attempts."""
    return tuple(
        WearRow(least, bounds[row] if row < len(bounds) else None, attempts, counted[row, True])
        for row, least in enumerate(bounds, start=1)
        if (attempts := counted[row, True] + counted[row, False])
    )
