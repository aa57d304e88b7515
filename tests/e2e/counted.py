"""Reads a run's counters back from a real Prometheus, and compares them with its journal."""

from __future__ import annotations

from collections import Counter

import pytest

from orchestrator.coordinator.transitions import Event
from orchestrator.metrics.families import FAMILIES
from tests.e2e.prometheus import Prometheus
from tests.metrics.test_totals import observed, recount

COUNTERS = [each for each in FAMILIES if each.source == "journal" and each.kind == "counter"]
HISTOGRAMS = [each for each in FAMILIES if each.source == "journal" and each.kind == "histogram"]
WINDOW = "1h"  # longer than all that is watched here
Counts = dict[tuple[str, tuple[str, ...]], float]


def counts_the_journal(prometheus: Prometheus, run: str, events: list[Event]) -> Counts:
    """Every counter, as it was last scraped: none is missing, and each is what its journal has."""
    wanted: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for family, labels, amount in recount(events):
        wanted[family, labels] += amount  # type: ignore[assignment]  # of seconds too
    found = _counted(prometheus, run)
    assert found.keys() == {(each.name, labels) for each in COUNTERS for labels in each.series}
    for key, value in found.items():
        assert value == pytest.approx(wanted[key]), key
    values = Counter(observed(events))
    for histogram in HISTOGRAMS:
        of_family = final(prometheus, f"{histogram.full_name}_count", run)
        assert sum(of_family.values()) == values[histogram.name], histogram.name
    return found


def never_went_down(prometheus: Prometheus, run: str) -> None:
    """No counter did, and each was there to be seen."""
    names = [each.full_name for each in COUNTERS]
    names += [f"{h.full_name}_{part}" for h in HISTOGRAMS for part in ("bucket", "count", "sum")]
    for name in names:
        found = prometheus.query(f'resets({name}{{instance="{run}"}}[{WINDOW}])')
        assert found, name
        assert {sample["value"][1] for sample in found} == {"0"}, name


def final(prometheus: Prometheus, name: str, run: str) -> dict[frozenset[tuple[str, str]], float]:
    """The series of a family, as they were last scraped."""
    found = prometheus.query(f'last_over_time({name}{{instance="{run}"}}[{WINDOW}])')
    return {frozenset(each["metric"].items()): float(each["value"][1]) for each in found}


def _counted(prometheus: Prometheus, run: str) -> Counts:
    return {
        (family.name, tuple(labels[name] for name in family.labels)): value
        for family in COUNTERS
        for labels, value in (
            (dict(key), value) for key, value in final(prometheus, family.full_name, run).items()
        )
    }
