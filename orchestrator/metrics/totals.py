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
        """Counts one event. Values that a worker reported may be anything, and a counter never goes
        down, so a negative duration counts as none."""
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
                self._add(families.DEVICE_SECONDS, ("agent",), max(0.0, event.held_s))
                self._add(families.DEVICE_SECONDS_LOST, (), max(0.0, event.held_s))
            case AttemptFenced():
                self._add(families.FENCED)
                self._add(families.EVIDENCE_BYTES, (), event.bundle_bytes)
            case DeviceStarted():
                self._add(families.DEVICE_STARTS, ("started",))
                if event.boot_s is not None:
                    self._add(families.DEVICE_SECONDS, ("boot",), max(0.0, event.boot_s))
                    self._observe(families.BOOT_SECONDS, (), event.boot_s)
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
        whole = (event.ended_ms - event.started_ms) / 1000
        self._observe(families.ATTEMPT_SECONDS, (), whole)
        for phase in ATTEMPT_PHASES:
            if phase in event.durations:
                seconds = max(0.0, event.durations[phase])
                self._observe(families.PHASE_SECONDS, (phase,), seconds)
                self._add(families.DEVICE_SECONDS, (phase,), seconds)
                whole -= seconds
        self._add(families.DEVICE_SECONDS, _EVIDENCE, max(0.0, whole))
        if event.judgement.outcome is Outcome.INFRA_FAILED:
            lost = (event.ended_ms - event.started_ms) / 1000
            self._add(families.DEVICE_SECONDS_LOST, (), max(0.0, lost))

    def _classify(self, family: Family, reason: str, *phase: str) -> None:
        """One more of this reason; of `other` where the family's table does not have it."""
        labels = (*phase, reason)
        self._add(family, labels if labels in self.counters[family.name] else (*phase, OTHER))

    def _add(self, family: Family, labels: LabelValues = (), amount: float = 1) -> None:
        self.counters[family.name][labels] += amount

    def _observe(self, family: Family, labels: LabelValues, value: float) -> None:
        self.histograms[family.name][labels].add(max(0.0, value))
