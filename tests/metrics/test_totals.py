"""What is counted is what the journal holds: live, replayed and counted again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    BundleStored,
    DeviceFailed,
    DeviceLost,
    DeviceQuarantined,
    DeviceStarted,
    EpisodeDecided,
    Event,
)
from orchestrator.metrics import families
from orchestrator.metrics.families import FAMILIES, START_REASONS, Family
from orchestrator.metrics.totals import RunTotals
from orchestrator.outcome import (
    BLAMED_ON_AGENT,
    INCONCLUSIVE_REASONS,
    INFRA_REASONS,
    Cause,
    Judgement,
    Outcome,
    Phase,
    Reason,
)
from tests.metrics.journals import PLAN, Life, judged, replayed, totals_of, variants

OF_REASONS = (families.INFRA_FAILURES, families.AGENT_FAILURES, families.INCONCLUSIVE)


@settings(max_examples=60, deadline=None)
@given(chance=st.randoms(use_true_random=False), steps=st.integers(0, 120))
def test_live_totals_replayed_totals_and_a_plain_recount_agree(
    chance: random.Random, steps: int
) -> None:
    """And what a coordinator had counted before it was killed goes on in the next one."""
    journal = Life(chance).live(steps)
    live, again = totals_of(journal), totals_of(replayed(journal))
    assert again.counters == live.counters
    assert counts(again) == counts(live)
    for name, labels, amount in recount(journal):
        live.counters[name][labels] -= amount
    left = {
        (name, labels): value
        for name, series in live.counters.items()
        for labels, value in series.items()
        if value != pytest.approx(0, abs=1e-3)
    }
    assert left == {}
    assert counts(again) == Counter(observed(journal))


@settings(max_examples=30, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_no_counter_ever_goes_down_and_no_series_appears(chance: random.Random) -> None:
    totals = RunTotals(variants())
    before = {name: dict(series) for name, series in totals.counters.items()}
    for event in Life(chance).live(80):
        totals.apply(event)
        for name, series in totals.counters.items():
            assert series.keys() == before[name].keys()
            assert all(value >= before[name][labels] for labels, value in series.items())
            before[name] = dict(series)


def counts(totals: RunTotals) -> Counter[str]:
    found = {
        name: sum(sum(kept.counts) for kept in series.values())
        for name, series in totals.histograms.items()
    }
    return Counter({name: count for name, count in found.items() if count})


def observed(journal: Iterable[Event]) -> Iterable[str]:
    """The family of every value in a histogram."""
    for event in journal:
        if isinstance(event, AttemptCommitted):
            yield "attempt_seconds"
            yield from ("phase_seconds" for phase in event.durations if phase != "strange")
        elif isinstance(event, DeviceStarted) and event.boot_s is not None:
            yield "boot_seconds"


def recount(journal: list[Event]) -> Iterable[tuple[str, tuple[str, ...], float]]:
    """Family by family, as a person would count the journal's lines."""
    for ended in journal:
        if isinstance(ended, AttemptCommitted | AttemptLost):
            yield "attempts_total", (ended.judgement.outcome.value,), 1
            yield from reasons(ended.judgement)
            if ended.attempt != 1:
                yield "retries_total", (), 1
            if isinstance(ended, AttemptLost) and ended.judgement.reason == "lease_expired":
                yield "leases_expired_total", (), 1
    for each in journal:
        match each:
            case EpisodeDecided():
                variant = each.episode.split(".")[1]
                yield "episodes_decided_total", (variant, each.judgement.outcome.value), 1
                yield "violations_total", (variant,), int(bool(each.judgement.violations))
            case DeviceStarted():
                yield "device_starts_total", ("started",), 1
            case DeviceFailed():
                listed = each.reason in START_REASONS[each.phase]
                yield "device_starts_total", ("failed",), 1
                yield (
                    "device_start_failures_total",
                    (each.phase, each.reason if listed else "other"),
                    1,
                )
            case DeviceLost():
                yield "devices_lost_total", (each.cause.value,), 1
            case DeviceQuarantined():
                yield "quarantines_total", (), 1
            case AttemptFenced():
                yield "fenced_total", (), 1
        if isinstance(each, BundleStored):
            yield "evidence_bytes_total", (), each.bundle_bytes
    yield from seconds(journal)


def reasons(judgement: Judgement) -> Iterable[tuple[str, tuple[str, ...], float]]:
    reason = judgement.reason
    match judgement.outcome:
        case Outcome.INFRA_FAILED:
            listed = reason in INFRA_REASONS.get(judgement.phase, ())
            labels = (judgement.phase.value, reason.value if listed else "other")
            yield "infra_failures_total", labels, 1
        case Outcome.TASK_FAILED | Outcome.AGENT_FAILED:
            known = reason.value if reason in BLAMED_ON_AGENT else "other"
            yield "agent_failures_total", (known,), 1
        case Outcome.ORACLE_INCONCLUSIVE:
            known = reason.value if reason in INCONCLUSIVE_REASONS else "other"
            yield "inconclusive_total", (known,), 1


def seconds(journal: list[Event]) -> Iterable[tuple[str, tuple[str, ...], float]]:
    """A device's time; what is below zero counts as none."""
    for each in journal:
        match each:
            case DeviceStarted(boot_s=float(boot_s)):
                yield "device_seconds_total", ("boot",), max(0, boot_s)
            case AttemptLost():
                yield "device_seconds_total", ("agent",), each.held_s
                yield "device_seconds_lost_total", (), each.held_s
            case AttemptCommitted():
                whole = (each.ended_ms - each.started_ms) / 1000
                parts = {
                    phase: max(0, spent)
                    for phase, spent in each.durations.items()
                    if phase != "strange"
                }
                for phase, spent in parts.items():
                    yield "device_seconds_total", (phase,), spent
                rest = max(0, whole - sum(parts.values()))
                yield "device_seconds_total", ("evidence",), rest
                if each.judgement.outcome is Outcome.INFRA_FAILED:
                    yield "device_seconds_lost_total", (), whole


CLOSED = [
    *(
        (judged(Outcome.INFRA_FAILED, phase, reason), families.INFRA_FAILURES)
        for phase, known in INFRA_REASONS.items()
        for reason in sorted(known)
    ),
    *(
        (judged(Outcome.AGENT_FAILED, Phase.AGENT, reason), families.AGENT_FAILURES)
        for reason in sorted(BLAMED_ON_AGENT)
    ),
    *(
        (judged(Outcome.ORACLE_INCONCLUSIVE, Phase.ORACLE, reason), families.INCONCLUSIVE)
        for reason in sorted(INCONCLUSIVE_REASONS)
    ),
]


@pytest.mark.parametrize(
    ("judgement", "family"), CLOSED, ids=lambda each: getattr(each, "reason", None)
)
def test_a_closed_reason_is_one_increment_in_its_one_family(
    judgement: Judgement, family: Family
) -> None:
    """With a bundle and without: the same one, under the reason itself and never `other`."""
    reason = judgement.reason.value
    for ended in (committed(judgement), lost(judgement)):
        totals = totals_of([ended])
        counted = [
            (each.name, labels)
            for each in OF_REASONS
            for labels, value in totals.counters[each.name].items()
            for _ in range(int(value))
        ]
        labels = (judgement.phase.value, reason) if len(family.labels) == 2 else (reason,)
        assert counted == [(family.name, labels)]
        assert totals.counters["attempts_total"] == {
            each: float(each == (judgement.outcome.value,)) for each in families.ATTEMPTS.series
        }


def test_a_success_is_in_no_family_of_failures() -> None:
    totals = totals_of([committed(judged(Outcome.SUCCESS, Phase.ORACLE, Reason.NONE))])
    assert [sum(totals.counters[each.name].values()) for each in OF_REASONS] == [0, 0, 0]


def test_a_cause_that_is_journaled_once_is_one_lost_device() -> None:
    for cause in Cause:
        event = DeviceLost(device="d", reason=Reason.HOST_LOST, cause=cause)
        counted = totals_of([event]).counters["devices_lost_total"]
        assert {labels for labels, value in counted.items() if value} == {(cause.value,)}


def test_the_union_of_the_reasons_and_the_successes_is_every_attempt() -> None:
    journal = Life(random.Random(7)).live(2000)
    counters = totals_of(journal).counters
    failed = sum(sum(counters[each.name].values()) for each in OF_REASONS)
    attempts = counters["attempts_total"]
    assert failed + attempts[("success",)] == sum(attempts.values()) > 20


def test_every_family_of_the_journal_is_counted_by_some_event() -> None:
    """None is exposed that nothing ever adds to."""
    totals = totals_of([each for seed in range(20) for each in Life(random.Random(seed)).live(300)])
    quiet = [name for name, series in totals.counters.items() if not any(series.values())]
    assert quiet == []
    assert set(counts(totals)) == {
        each.name for each in FAMILIES if each.kind == "histogram" and each.source == "journal"
    }


def committed(judgement: Judgement) -> AttemptCommitted:
    return AttemptCommitted(
        token="t", episode=PLAN.episodes[0].id, attempt=1, device="d", judgement=judgement,
        started_ms=0, ended_ms=2500, manifest="m", bundle="b", bundle_bytes=9,
    )  # fmt: skip


def lost(judgement: Judgement) -> AttemptLost:
    return AttemptLost(
        token="t", episode=PLAN.episodes[0].id, attempt=1, device="d", held_s=1,
        judgement=judgement,
    )  # fmt: skip


def test_whatever_a_worker_reports_is_counted_as_what_can_be() -> None:
    """One such line in a journal would otherwise end every resume that counts it."""
    odd = committed(judged(Outcome.INFRA_FAILED, Phase.RESET, Reason.DEVICE_LOST))
    for ended_ms in (10**320, -(10**320)):
        durations = {"reset": 1e308, "setup": -5.0, "agent": 1e308}
        totals = totals_of(
            [
                odd.model_copy(update={"ended_ms": ended_ms, "durations": durations}),
                DeviceStarted(device="d", report_id="r", boot_s=1e308),
            ]
        )
        counts = [value for counter in totals.counters.values() for value in counter.values()]
        sums = [kept.sum for found in totals.histograms.values() for kept in found.values()]
        assert all(0 <= value <= 8 * 24 * 3600 for value in counts + sums)
        assert totals.histograms["attempt_seconds"][()].counts.count(1) == 1
