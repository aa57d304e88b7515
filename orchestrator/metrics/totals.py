"""The running totals of a run: what its journal counts, one event at a time. Pure.

`apply` is the same function of an event when a journal is replayed and when it is written, so a
resumed run goes on with the counts that it had.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from ..coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceFailed,
    DeviceLost,
    DeviceQuarantined,
    DeviceStarted,
    EpisodeDecided,
    Event,
)
from ..outcome import Judgement, Outcome, Reason
from . import families
from .families import ATTEMPT_PHASES, OTHER, Family, LabelValues

_EVIDENCE = ("evidence",)
_LONGEST_S = 7 * 24 * 3600.0  # no phase, attempt or boot takes longer; a worker may report anything


class Buckets:
    """A histogram that is counted as its values come."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # in each bucket; the last one has no bound
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class RunTotals:
    def __init__(self, variants: Mapping[str, str]) -> None:
        """`variants`: of each episode."""
        self._variants = variants
        journaled = [each for each in families.FAMILIES if each.source == "journal"]
        self.counters: dict[str, dict[LabelValues, float]] = {
            each.name: dict.fromkeys(each.series, 0) for each in journaled if each.kind == "counter"
        }
        self.histograms: dict[str, dict[LabelValues, Buckets]] = {
            each.name: {labels: Buckets(each.bounds) for labels in each.series}
            for each in journaled
            if each.kind == "histogram"
        }

    def apply(self, event: Event) -> None:
        """Counts one event. It never raises, whatever numbers a worker reported."""
        match event:
            case EpisodeDecided():
                self._decide(event)
            case AttemptCommitted():
                self._add(families.EVIDENCE_BYTES, (), event.bundle_bytes)
                self._end(event.judgement, event.attempt)
                self._spend(event)
            case AttemptLost():
                self._end(event.judgement, event.attempt)
                if event.judgement.reason is Reason.LEASE_EXPIRED:
                    self._add(families.LEASES_EXPIRED)
                held = _credible(event.held_s)
                self._add(families.DEVICE_SECONDS, ("agent",), held)
                self._add(families.DEVICE_SECONDS_LOST, (), held)
            case AttemptFenced():
                self._add(families.FENCED)
                self._add(families.EVIDENCE_BYTES, (), event.bundle_bytes)
            case DeviceStarted():
                self._add(families.DEVICE_STARTS, ("started",))
                if event.boot_s is not None:
                    boot = _credible(event.boot_s)
                    self._add(families.DEVICE_SECONDS, ("boot",), boot)
                    self._observe(families.BOOT_SECONDS, (), boot)
            case DeviceFailed():
                self._add(families.DEVICE_STARTS, ("failed",))
                self._classify(families.DEVICE_START_FAILURES, event.reason, event.phase)
            case DeviceLost():
                self._add(families.DEVICES_LOST, (event.cause.value,))
            case DeviceQuarantined():
                self._add(families.QUARANTINES)

    def _decide(self, event: EpisodeDecided) -> None:
        variant = self._variants[event.episode]
        self._add(families.EPISODES_DECIDED, (variant, event.judgement.outcome.value))
        if event.judgement.violations:
            self._add(families.VIOLATIONS, (variant,))

    def _end(self, judgement: Judgement, attempt: int) -> None:
        self._add(families.ATTEMPTS, (judgement.outcome.value,))
        if attempt > 1:
            self._add(families.RETRIES)
        match judgement.outcome:
            case Outcome.INFRA_FAILED:
                self._classify(
                    families.INFRA_FAILURES, judgement.reason.value, judgement.phase.value
                )
            case Outcome.TASK_FAILED | Outcome.AGENT_FAILED:
                self._classify(families.AGENT_FAILURES, judgement.reason.value)
            case Outcome.ORACLE_INCONCLUSIVE:
                self._classify(families.INCONCLUSIVE, judgement.reason.value)

    def _spend(self, event: AttemptCommitted) -> None:
        whole = _attempt_s(event)
        self._observe(families.ATTEMPT_SECONDS, (), whole)
        rest = whole
        for phase in ATTEMPT_PHASES:
            if phase in event.durations:
                seconds = _credible(event.durations[phase])
                self._observe(families.PHASE_SECONDS, (phase,), seconds)
                self._add(families.DEVICE_SECONDS, (phase,), seconds)
                rest -= seconds
        self._add(families.DEVICE_SECONDS, _EVIDENCE, max(0.0, rest))
        if event.judgement.outcome is Outcome.INFRA_FAILED:
            self._add(families.DEVICE_SECONDS_LOST, (), whole)

    def _classify(self, family: Family, reason: str, *phase: str) -> None:
        """One more of this reason; of `other` where the family's table does not have it."""
        labels = (*phase, reason)
        self._add(family, labels if labels in self.counters[family.name] else (*phase, OTHER))

    def _add(self, family: Family, labels: LabelValues = (), amount: float = 1) -> None:
        self.counters[family.name][labels] += amount

    def _observe(self, family: Family, labels: LabelValues, value: float) -> None:
        self.histograms[family.name][labels].add(value)


def _attempt_s(event: AttemptCommitted) -> float:
    """How long it took by its worker's clock, which may have been set meanwhile."""
    longest_ms = int(1000 * _LONGEST_S)  # before the division: an int may be too large for a float
    return min(max(0, event.ended_ms - event.started_ms), longest_ms) / 1000


def _credible(seconds: float) -> float:
    """A counter never goes down, nor to infinity, by a duration that cannot be."""
    return min(max(0.0, seconds), _LONGEST_S)
