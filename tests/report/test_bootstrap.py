"""A bootstrap over cases, against scipy's, and where it falls back on a closed form."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.report.bootstrap import Ratio, difference, intervals, middle, resampled
from orchestrator.report.statistics import newcombe, wilson

SEED = int("ab" * 32, 16)


def clustered(cases: int, repeats: int, seed: int) -> Ratio:
    """Cases of unequal difficulty, some of whose episodes could not be told."""
    chance = Random(seed)
    counts = [repeats - chance.randrange(2) for _ in range(cases)]
    hard = [chance.random() for _ in range(cases)]
    hits = [sum(chance.random() < p for _ in range(n)) for p, n in zip(hard, counts, strict=True)]
    return Ratio(tuple(hits), tuple(counts))


@pytest.mark.parametrize(("cases", "repeats"), [(15, 3), (60, 10), (200, 5)])
def test_the_bootstrap_is_scipys_but_for_its_draws(cases: int, repeats: int) -> None:
    ratio = clustered(cases, repeats, seed=cases)
    found = intervals([ratio], SEED)[ratio]
    theirs = stats.bootstrap(
        (np.array(ratio.numerators), np.array(ratio.denominators)),
        lambda hits, of, axis: hits.sum(axis=axis) / of.sum(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found is not None
    assert found.method == "bootstrap_over_cases"
    # 2,000 draws place an end to about a twentieth of the width.
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=0.08 * width)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=0.08 * width)


def test_repeats_do_not_make_few_cases_sure() -> None:
    """Ten cases that always or never succeed are ten, not a thousand."""
    ratio = Ratio((100, 0) * 5, (100,) * 10)
    found = intervals([ratio], SEED)[ratio]
    pooled = wilson(500, 1000)
    assert found is not None
    assert found.high - found.low > 5 * (pooled[1] - pooled[0])


def test_one_episode_a_case_is_wilsons() -> None:
    ratio = Ratio((1, 0, 1, 1, 0, 1, 0), (1, 1, 1, 1, 1, 1, 0), independent=True)
    found = intervals([ratio], SEED)[ratio]
    assert found is not None
    assert (found.low, found.high, found.method) == (*wilson(4, 6), "wilson")


@pytest.mark.parametrize(
    "ratio",
    [
        Ratio((3, 1, 0, 2), (3, 3, 3, 3)),  # four cases
        Ratio((2, 2, 2, 2, 2, 4), (2, 2, 2, 2, 2, 4)),  # all alike
        Ratio((1, 1, 1, 1, 1, 2), (2, 2, 2, 2, 2, 4)),
    ],
)
def test_too_few_cases_or_all_alike_fall_back_on_wilson_over_cases(ratio: Ratio) -> None:
    found = intervals([ratio], SEED)[ratio]
    value, cases = ratio.value, ratio.cases
    assert found is not None
    assert value is not None
    assert found.method == "wilson_over_cases"
    assert (found.low, found.high) == wilson(value * cases, cases)
    assert found.low < found.high


def test_a_mean_has_no_interval_where_a_bootstrap_cannot_give_one() -> None:
    few, alike = Ratio((900, 300), (3, 1), share=False), Ratio((4,) * 8, (2,) * 8, share=False)
    enough = Ratio((4, 5, 6, 7, 8), (2,) * 5, share=False)
    found = intervals([few, alike, enough], SEED)
    assert (found[few], found[alike]) == (None, None)
    spread = found[enough]
    assert spread is not None
    assert spread.low < 3 < spread.high


def test_a_share_of_nothing_has_no_interval() -> None:
    nothing = Ratio((0, 0), (0, 0))
    assert intervals([nothing], SEED) == {nothing: None}
    assert intervals([], SEED) == {}


def test_what_else_is_asked_for_changes_no_interval() -> None:
    """The draws are shared, and come from the seed alone."""
    one, other = clustered(20, 4, seed=1), clustered(20, 4, seed=2)
    assert intervals([one], SEED)[one] == intervals([other, one], SEED)[one]
    assert intervals([one], SEED) != intervals([one], SEED + 1)


def test_the_draws_are_those_of_every_python() -> None:
    """Written down here, so that a report of last year can be computed again."""
    first, second = resampled([(1, 10, 100, 1000), (1, 1, 1, 1)], seed=7, times=2)
    chance = Random(7)
    by_hand = [sum((1, 10, 100, 1000)[int(chance.random() * 4)] for _ in range(4)) for _ in "ab"]
    assert [first, second] == [(by_hand[0], 4), (by_hand[1], 4)]
    assert by_hand == [112, 211]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2**40), st.integers(0, 300), st.integers(0, 5)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 2**64),
)
def test_packed_columns_sum_as_columns(rows: Sequence[tuple[int, int, int]], seed: int) -> None:
    columns = list(zip(*rows, strict=True))
    chance = Random(seed)
    for sums in resampled(columns, seed, times=5):
        drawn = [int(chance.random() * len(rows)) for _ in rows]
        assert sums == tuple(sum(column[i] for i in drawn) for column in columns)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.integers(0, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=1,
        max_size=25,
    ),
)
def test_an_interval_of_a_share_is_a_share_and_holds_it(pairs: list[tuple[int, int]]) -> None:
    ratio = Ratio(tuple(hits for hits, _ in pairs), tuple(of for _, of in pairs))
    found, value = intervals([ratio], SEED)[ratio], ratio.value
    if found is None or value is None:
        assert sum(ratio.denominators) == 0
    else:
        assert 0 <= found.low <= value <= found.high <= 1


def test_the_middle_leaves_a_fortieth_on_each_side() -> None:
    assert middle(range(2000)) == (50, 1949)
    low, high = np.percentile(np.arange(2000), [2.5, 97.5])
    assert middle(range(2000)) == pytest.approx((low, high), abs=1)


def test_a_difference_over_cases_is_scipys_but_for_its_draws() -> None:
    a, b = clustered(40, 6, seed=3), clustered(40, 6, seed=4)
    pairs = [6] * 40
    found = difference(a.numerators, b.numerators, pairs, SEED)
    theirs = stats.bootstrap(
        (np.array(a.numerators) - np.array(b.numerators),),
        lambda gains, axis: gains.sum(axis=axis) / 240,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found is not None
    assert found.method == "bootstrap_over_cases"
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=0.02)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=0.02)


def test_no_difference_anywhere_is_not_a_sure_zero() -> None:
    found = difference([3, 0, 1, 3, 2, 3], [3, 0, 1, 3, 2, 3], [3] * 6, SEED)
    assert found is not None
    assert found.method == "newcombe_over_cases"
    assert (found.low, found.high) == newcombe(4.0, 4.0, 6)
    assert found.low < 0 < found.high
    assert difference([], [], [], SEED) is None
