"""Means and medians of steps and seconds, with their intervals."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from scipy import stats

from orchestrator.report import effort
from orchestrator.report.bootstrap import intervals
from orchestrator.report.figures import final
from orchestrator.report.model import EpisodeRow, Measure
from tests.report.rows import AGENT, FAILED, INFRA, SUCCESS, result, row, spent


def measure(name: str, rows: list[EpisodeRow]) -> Measure:
    measured = effort.measure(rows, final, sorted({each.case for each in rows}))[name]
    return effort.to_measure(measured, intervals([measured.mean, measured.below], seed=1))


def taking(steps: list[int], case: str = "") -> list[EpisodeRow]:
    """An episode each; of one case, or each of its own."""
    return [
        row(
            "benign", result(SUCCESS), case=case or f"c{n:03}", repeat=n, took=spent(each, each / 8)
        )
        for n, each in enumerate(steps)
    ]


def test_only_attempts_that_reached_the_agent_and_were_not_cut_short_count() -> None:
    rows = [
        row("benign", result(SUCCESS), case="a", took=spent(4, 1.5)),
        row("benign", result(FAILED), case="b", took=spent(8, 2.5)),
        row("benign", result(INFRA), case="c", took=spent(100, 9.0)),
        row("benign", result(AGENT), case="d", took=spent(0)),
        row("benign", None, case="e"),
        row("attack", result(SUCCESS), case="a", took=spent(50)),
    ]
    steps, seconds = measure("steps_benign", rows), measure("agent_seconds_benign", rows)
    assert (steps.mean, steps.median, steps.episodes, steps.cases) == (6, 6, 2, 2)
    assert (seconds.mean, seconds.median) == (2.0, 2.0)
    assert measure("attempt_seconds_benign", rows).mean == 4.0
    assert measure("steps_attack", rows).mean == 50


def test_nobody_reached_is_no_mean_rather_than_zero() -> None:
    found = measure("steps_benign", [row("benign", result(INFRA))])
    assert found == Measure(0, 0, None, None, None, None)


@pytest.mark.parametrize("repeats", [1, 4])
def test_mean_and_median_have_scipys_intervals_but_for_the_draws(repeats: int) -> None:
    chance = Random(repeats)
    rows, values = [], []
    for case in range(60):
        usual = chance.uniform(5, 60)
        found = [round(usual + chance.expovariate(1 / 20)) for _ in range(repeats)]
        values.append(found)
        rows += taking(found, f"c{case:03}")
    by_case = np.array(values)
    steps = measure("steps_benign", rows)
    assert steps.mean_interval is not None
    assert steps.median_interval is not None
    for ours, statistic in (
        (steps.mean_interval, lambda picked: by_case[picked].mean()),
        (steps.median_interval, lambda picked: np.median(by_case[picked])),
    ):
        theirs = stats.bootstrap(
            (np.arange(60),), statistic, vectorized=False, method="percentile",
            n_resamples=4000, rng=np.random.default_rng(2),
        ).confidence_interval  # fmt: skip
        width = theirs.high - theirs.low
        assert ours.low == pytest.approx(theirs.low, abs=0.2 * width)
        assert ours.high == pytest.approx(theirs.high, abs=0.2 * width)


def test_the_medians_interval_holds_the_true_median_as_often_as_it_says() -> None:
    """Three episodes each of 30 cases whose own medians vary around 40."""
    chance = Random(11)
    held = 0
    for _ in range(40):
        rows = []
        for case in range(30):
            centre = chance.gauss(40, 8)
            rows += taking([max(1, round(chance.gauss(centre, 4))) for _ in "abc"], f"c{case:03}")
        interval = measure("steps_benign", rows).median_interval
        assert interval is not None
        held += interval.low <= 40 <= interval.high
    assert held >= stats.binom.ppf(0.001, 40, 0.95)


def test_fewer_than_five_cases_have_no_interval() -> None:
    steps, more = (measure("steps_benign", taking(each)) for each in ([3, 9, 5], [3, 9, 5, 4, 7]))
    assert (steps.mean_interval, steps.median_interval) == (None, None)
    assert more.mean_interval is not None
    assert more.median_interval is not None
    assert (more.median_interval.low, more.median_interval.high) == (3, 9)


def test_equal_values_at_the_median_do_not_make_it_sure() -> None:
    steps = measure("steps_benign", taking([2, 3, 5, 6, 6, 6, 6, 6]))
    assert (steps.median, steps.median_interval and steps.median_interval.low) == (6, 5)


def test_a_mean_does_not_depend_on_the_order_of_the_episodes() -> None:
    chance = Random(3)
    rows = [
        row("benign", result(SUCCESS), case=f"c{n:03}", took=spent(1, chance.random()))
        for n in range(50)
    ]
    shuffled = rows.copy()
    chance.shuffle(shuffled)
    assert measure("agent_seconds_benign", rows) == measure("agent_seconds_benign", shuffled)
