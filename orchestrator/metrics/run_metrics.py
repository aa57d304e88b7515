"""The metrics of one run in this process: it observes the coordinator, and is scraped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ..coordinator.state import State
from ..coordinator.transitions import Event
from ..plan.plan import Plan
from . import families
from .families import LabelValues
from .gauges import UNKNOWN_ROOM, FleetSlot, GaugeValues, VolumeRoom, gauges
from .totals import Buckets, RunTotals


@dataclass
class RunMetrics:
    """A coordinator's observer (coordinator/observer.py). `state`, `slots`, `room` and
    `check_claim` are given once there are any."""

    identity: Mapping[str, str]  # by the labels of run_info
    totals: RunTotals
    state: State | None = None
    slots: Callable[[], Iterable[FleetSlot]] = tuple
    room: VolumeRoom = UNKNOWN_ROOM
    over: bool = False  # it has ended, whether or not all of it is decided
    check_claim: Callable[[], None] = lambda: None  # ClaimLost where another coordinator has it
    commits: Buckets = field(default_factory=lambda: Buckets(families.COMMIT_SECONDS.bounds))
    syncs: Buckets = field(default_factory=lambda: Buckets(families.JOURNAL_SYNC_SECONDS.bounds))

    @classmethod
    def of(cls, plan: Plan, identity: Mapping[str, str]) -> RunMetrics:
        return cls(identity, RunTotals({each.id: each.variant for each in plan.episodes}))

    def journaled(self, event: Event) -> None:
        self.totals.apply(event)

    def committed(self, seconds: float) -> None:
        self.commits.add(seconds)

    def synced(self, seconds: float) -> None:
        self.syncs.add(seconds)

    def histograms(self) -> Mapping[str, Mapping[LabelValues, Buckets]]:
        return {
            **self.totals.histograms,
            families.COMMIT_SECONDS.name: {(): self.commits},
            families.JOURNAL_SYNC_SECONDS.name: {(): self.syncs},
        }

    def gauges(self) -> GaugeValues:
        """None of any family before the run is open."""
        if self.state is None:
            return {}
        return gauges(self.state, time.monotonic(), self.slots(), self.room, over=self.over)
