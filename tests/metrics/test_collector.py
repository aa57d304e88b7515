"""What is exposed: every family, at most 600 series, and labels that any text survives."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

from orchestrator.coordinator.state import State, apply, mark_seen, new_state
from orchestrator.coordinator.transitions import (
    AttemptLost,
    DeviceFailed,
    DeviceQuarantined,
    DeviceStarted,
    EpisodeDecided,
    LeaseGranted,
)
from orchestrator.metrics.collector import exposition, registered
from orchestrator.metrics.families import FAMILIES, IDENTITY
from orchestrator.metrics.gauges import FleetSlot, FleetView, VolumeRoom
from orchestrator.metrics.run_metrics import RunMetrics
from orchestrator.outcome import Outcome, Phase, Reason
from orchestrator.plan.plan import Plan
from tests.metrics.journals import PLAN, Life, judged
from tests.report.rows import a_plan

MOST_SERIES = 600
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def metrics_of(plan: Plan = PLAN, **identity: str) -> RunMetrics:
    metrics = RunMetrics.of(plan, dict.fromkeys(IDENTITY, "x") | identity)
    expected = {episode.id: 10.0 for episode in plan.episodes}
    metrics.state = new_state(plan.episodes, expected, lease_s=30, attempts=3)
    slots = [FleetSlot("slot-00.1", "starting"), FleetSlot("slot-01.1", "queued")]
    metrics.fleet = lambda: FleetView(slots, wanted=2)
    metrics.room = VolumeRoom(1e9, 5e9)
    return metrics


def samples(metrics: RunMetrics, accept: str = "") -> list[Sample]:
    body, kind = exposition(registered(metrics), accept)
    parse = parse_openmetrics if "openmetrics" in kind else parse_text
    return [sample for family in parse(body.decode()) for sample in family.samples]


def value(metrics: RunMetrics, name: str, **labels: str) -> float | None:
    return registered(metrics).get_sample_value(f"emufarm_{name}", labels)


@pytest.mark.parametrize("accept", ["", "text/plain", OPENMETRICS, "*/*", "no/such; type=;,"])
def test_every_family_is_exposed_in_each_format_and_is_read_back(accept: str) -> None:
    names = {sample.name for sample in samples(metrics_of(), accept)}
    for family in FAMILIES:
        histogram = family.kind == "histogram"
        assert (f"{family.full_name}_bucket" if histogram else family.full_name) in names
    assert len(names) == len(FAMILIES) + 2 * sum(each.kind == "histogram" for each in FAMILIES)


def test_every_reason_stands_at_zero_from_the_start() -> None:
    counted = [each for each in samples(metrics_of()) if each.name.endswith("_total")]
    assert {sample.value for sample in counted} == {0}
    assert value(metrics_of(), "infra_failures_total", phase="agent", reason="lease_expired") == 0
    assert value(metrics_of(), "infra_failures_total", phase="agent", reason="other") == 0


@pytest.mark.parametrize("cases", [5, 50_000])
def test_a_run_of_any_size_has_at_most_600_series(cases: int) -> None:
    """Counted at 10 and at 100,000 episodes, each decided; bench/large.py counts it again, of a
    resumed run with every event of its journal behind it."""
    metrics = metrics_of(a_plan(cases))
    assert len(metrics.totals._variants) == 2 * cases
    for episode in metrics.state.episodes if metrics.state else ():
        judgement = judged(Outcome.INFRA_FAILED, Phase.RESET, Reason.DEVICE_LOST, "leak")
        metrics.journaled(
            EpisodeDecided(episode=episode, judgement=judgement, attempt=1, bundle="")
        )
    found = samples(metrics)
    assert len(found) <= MOST_SERIES
    assert len(found) == sum(family.count for family in FAMILIES)


def test_no_label_names_an_episode_a_device_a_pod_or_a_node() -> None:
    metrics = metrics_of()
    for event in Life(random.Random(5)).live(500):
        metrics.journaled(event)
    shown = {text for sample in samples(metrics) for text in sample.labels.values()}
    assert not any("slot-" in text or "case_0" in text for text in shown)
    assert set().union(*(sample.labels for sample in samples(metrics))) == {
        "le", *(label for family in FAMILIES for label in family.labels)
    }  # fmt: skip


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_hostile_label_values_are_escaped(accept: str) -> None:
    """Quotes, newlines, half a surrogate pair and a megabyte of text."""
    hostile = 'a"b\\c\nd'
    metrics = metrics_of(run=hostile, agent="\udcff\ud800", profile="é\x00", image="x" * (1 << 20))
    (info,) = [each for each in samples(metrics, accept) if each.name == "emufarm_run_info"]
    assert (info.value, info.labels["run"], info.labels["agent"]) == (1, hostile, "??")
    assert len(info.labels["image"]) == 200
    assert len(samples(metrics, accept)) == sum(family.count for family in FAMILIES)


def test_what_a_phone_says_is_in_no_series() -> None:
    """A reason is of a closed list; the text beside it may be anything."""
    hostile = 'no calendar"} 1\nemufarm_run_over{x="'
    metrics = metrics_of()
    judgement = replace(
        judged(Outcome.INFRA_FAILED, Phase.SETUP, Reason.SETUP_NOT_SEEN), text=hostile
    )
    metrics.journaled(
        EpisodeDecided(episode=PLAN.episodes[0].id, judgement=judgement, attempt=1, bundle="")
    )
    metrics.journaled(
        AttemptLost(token="t", episode="e", attempt=1, device="d", judgement=judgement, held_s=1)
    )
    metrics.journaled(DeviceFailed(device="d", report_id="r", phase="boot", reason=hostile))
    assert value(metrics, "infra_failures_total", phase="setup", reason="setup_not_seen") == 1
    assert value(metrics, "device_start_failures_total", phase="boot", reason="other") == 1
    assert "calendar" not in exposition(registered(metrics), "")[0].decode()


def test_a_histogram_s_buckets_are_cumulative() -> None:
    metrics = metrics_of()
    for boot_s in (0.5, 1, 7, 1000):
        metrics.journaled(DeviceStarted(device="d", report_id="r", boot_s=boot_s))
    buckets = {
        sample.labels["le"]: sample.value
        for sample in samples(metrics)
        if sample.name == "emufarm_boot_seconds_bucket"
    }
    assert (buckets["1.0"], buckets["10.0"], buckets["300.0"], buckets["+Inf"]) == (2, 3, 3, 4)
    assert value(metrics, "boot_seconds_count") == 4
    assert value(metrics, "boot_seconds_sum") == 1008.5


def test_gauges_are_the_state_s() -> None:
    metrics = metrics_of()
    state = metrics.state
    assert state is not None
    begin(state, "slot-02.1")
    mark_seen(state, "slot-03.1", 1e12)
    for device in ("slot-04.1", "slot-05.1"):
        apply(state, DeviceQuarantined(device=device, text="why"), 0)
    devices = {
        sample.labels["state"]: sample.value
        for sample in samples(metrics)
        if sample.name == "emufarm_devices"
    }
    assert devices == {"starting": 1, "idle": 1, "busy": 1, "queued": 1, "quarantined": 2}
    assert [value(metrics, "episodes", state=s) for s in ("pending", "leased", "decided")] == [
        len(PLAN.episodes) - 1, 1, 0,
    ]  # fmt: skip
    assert value(metrics, "volume_free_bytes") == 1e9
    assert (value(metrics, "stuck"), value(metrics, "run_over")) == (0, 0)
    assert math.isnan(value(metrics, "eta_seconds") or 0)
    metrics.over = True
    assert value(metrics, "run_over") == 1


def begin(state: State, device: str) -> None:
    mark_seen(state, device, 1e12)
    id = PLAN.episodes[0].id
    granted = LeaseGranted(
        token="t", episode=id, attempt=1, device=device, worker="w", request_id="r"
    )
    apply(state, granted, 0)


def test_two_runs_in_one_registry_are_refused() -> None:
    registry = CollectorRegistry()
    registered(metrics_of(), registry)
    with pytest.raises(ValueError, match="Duplicated"):
        registered(metrics_of(), registry)
