"""The metrics of one run in this process: it observes the coordinator, and is scraped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..coordinator.state import State
from ..coordinator.transitions import Event
from ..plan.plan import Plan
from . import families
from .families import LabelValues
from .gauges import NO_FLEET, UNKNOWN_ROOM, FleetView, GaugeValues, VolumeRoom, gauges
from .totals import Buckets, RunTotals


@dataclass
class RunMetrics:
    """A coordinator's observer (coordinator/observer.py). What has a default is given
    once it is known."""

    identity: Mapping[str, str]  # by the labels of run_info
    totals: RunTotals
    state: State | None = None
    began_s: float = math.nan  # Unix time at which the run was first started
    fleet: Callable[[], FleetView] = lambda: NO_FLEET
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
        now, fleet = time.monotonic(), self.fleet()
        return gauges(self.state, now, fleet, self.room, self.began_s, over=self.over)
