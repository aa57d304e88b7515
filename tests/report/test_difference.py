"""Tests and intervals of a paired difference, compared with published and independent numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from orchestrator.report.compare.difference import EpisodePair, difference, tango
from orchestrator.report.statistics import Z

ANSWERS = st.sampled_from([True, False, None])


def pairs(*answers: tuple[bool | None, bool | None]) -> list[EpisodePair]:
    """A case each."""
    return [EpisodePair(f"c{n}.benign.1", f"c{n}", a, b) for n, (a, b) in enumerate(answers)]


def table(both: int, only_a: int, only_b: int, neither: int) -> list[EpisodePair]:
    return pairs(
        *[(True, True)] * both,
        *[(True, False)] * only_a,
        *[(False, True)] * only_b,
        *[(False, False)] * neither,
    )


def repeated(cases: Iterable[tuple[Iterable[bool], Iterable[bool]]]) -> list[EpisodePair]:
    return [
        EpisodePair(f"c{n}.benign.{repeat}", f"c{n}", a, b)
        for n, (of_a, of_b) in enumerate(cases)
        for repeat, (a, b) in enumerate(zip(of_a, of_b, strict=True), start=1)
    ]


@pytest.mark.parametrize(
    ("both", "only_a", "only_b", "neither"),
    [(1, 1, 7, 12), (59, 6, 16, 80), (0, 0, 0, 5), (3, 5, 0, 0), (10, 4, 4, 2), (0, 130, 90, 7)],
)
def test_at_one_repeat_p_is_mcnemar_s_as_statsmodels_has_it(
    both: int, only_a: int, only_b: int, neither: int
) -> None:
    found = difference(table(both, only_a, only_b, neither), seed=0)
    expected = mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
    assert found.test == "mcnemar_exact"
    assert found.p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("gained", "lost", "n", "digits", "published"),
    [
        # Bentur et al. 2009, in Fagerland, Lydersen and Laake, Stat Med 33 (2014) 2850-2875
        (1, 7, 21, 3, (-0.517, -0.026)),
        # Cavo et al. 2012, as the R package contingencytables prints it
        (6, 16, 161, 4, (-0.1240, -0.0054)),
    ],
)
def test_the_interval_is_the_published_one(
    gained: int, lost: int, n: int, digits: int, published: tuple[float, float]
) -> None:
    low, high = tango(gained, lost, n)
    assert (round(low, digits), round(high, digits)) == published


def test_p_is_the_published_one() -> None:
    """Cavo et al. 2012, as the R package contingencytables prints it."""
    assert difference(table(59, 6, 16, 80), seed=0).p == pytest.approx(0.052479, abs=5e-7)


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(1, 7, 21), (12, 2, 50), (0, 1, 44), (3, 3, 9), (40, 20, 160)]
)
def test_the_interval_s_ends_are_where_the_score_says_so(gained: int, lost: int, n: int) -> None:
    """The likeliest table under each difference is searched for, not written down."""

    def score(delta: float) -> float:
        def unlikely(share: float) -> float:
            parts = (
                (gained, share + delta),
                (lost, share),
                (n - gained - lost, 1 - 2 * share - delta),
            )
            if any(count and part <= 0 for count, part in parts):
                return inf
            return -sum(count * log(part) for count, part in parts if count)

        least, most = max(0.0, -delta), (1 - delta) / 2
        share = optimize.minimize_scalar(
            unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-13}
        ).x
        return float((gained - lost - n * delta) / np.sqrt(n * (2 * share + delta - delta**2)))

    low, high = tango(gained, lost, n)
    assert score(low) == pytest.approx(Z, abs=1e-4)
    assert score(high) == pytest.approx(-Z, abs=1e-4)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400))
def test_the_interval_holds_the_difference_and_turns_round_with_it(
    gained: int, lost: int, same: int
) -> None:
    n = gained + lost + same
    if n == 0:
        return
    low, high = tango(gained, lost, n)
    assert -1 <= low <= (gained - lost) / n <= high <= 1
    assert tango(lost, gained, n) == pytest.approx((-high, -low), abs=1e-9)


def test_no_change_at_all_is_not_certainty() -> None:
    found = difference(table(5, 0, 0, 5), seed=0)
    assert found.p == 1.0
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.2775, 0.2775), abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_with_repeats_p_is_the_permutation_test_s_as_scipy_has_it(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    cases = [(drawn.random(4) < 0.5, drawn.random(4) < 0.75) for _ in range(9)]
    found = difference(repeated(cases), seed=0)
    sums = [np.array([int(side.sum()) for side in sides]) for sides in zip(*cases, strict=True)]
    expected = stats.permutation_test(
        sums,
        lambda a, b, axis: np.mean(b - a, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.test == "permutation_over_cases"
    assert found.difference == pytest.approx(expected.statistic / 4)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_with_repeats_the_interval_is_the_bootstrap_s_as_scipy_has_it() -> None:
    drawn = np.random.default_rng(3)
    cases = [(drawn.random(5) < 0.4, drawn.random(5) < 0.6) for _ in range(40)]
    found = difference(repeated(cases), seed=11)
    gains = np.array([int(b.sum()) - int(a.sum()) for a, b in cases])
    expected = stats.bootstrap(
        (gains / 5,), np.mean, method="percentile", n_resamples=20_000, rng=drawn
    ).confidence_interval
    assert found.interval is not None
    assert found.interval.method == "bootstrap_over_cases"
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.low, expected.high), abs=0.02
    )


def test_repeats_of_one_case_are_not_taken_for_many_cases() -> None:
    """Ten equal repeats of one case: McNemar would be sure; one case proves nothing."""
    found = difference(repeated([([False] * 10, [True] * 10)]), seed=0)
    assert found.difference == 1.0
    assert found.p == 1.0


def test_a_missing_repeat_does_not_choose_another_test() -> None:
    told = repeated([([True, False], [True, True]), ([False, False], [True, True])])
    lost = [
        EpisodePair(p.episode, p.case, None, p.b) if p.episode.endswith("2") else p for p in told
    ]
    assert difference(lost, seed=0).test == "permutation_over_cases"


@given(st.lists(st.tuples(ANSWERS, ANSWERS), min_size=1, max_size=12), st.randoms())
def test_whatever_the_unknown_were_the_difference_is_within_the_bounds(
    answers: list[tuple[bool | None, bool | None]], chance: Random
) -> None:
    found = difference(pairs(*answers), seed=0)
    truth = [[chance.random() < 0.5 if side is None else side for side in each] for each in answers]
    share = sum(b - a for a, b in truth) / len(truth)
    assert found.lowest is not None
    assert found.highest is not None
    assert found.lowest - 1e-12 <= share <= found.highest + 1e-12


@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=12))
def test_what_is_unknown_is_left_out_and_counted_by_its_side(
    answers: list[tuple[bool | None, bool | None]],
) -> None:
    found = difference(pairs(*answers), seed=0)
    told = [each for each in answers if None not in each]
    alone = difference(pairs(*told), seed=0)
    assert (found.a, found.b, found.p, found.interval) == (
        alone.a, alone.b, alone.p, alone.interval
    )  # fmt: skip
    unknown = found.unknown_in_a + found.unknown_in_b + found.unknown_in_both
    assert (found.pairs, found.conclusive + unknown) == (len(answers), len(answers))
    assert found.unknown_in_a == sum(a is None and b is not None for a, b in answers)


def test_of_nothing_there_is_no_difference_rather_than_zero() -> None:
    found = difference([], seed=0)
    assert (found.difference, found.interval, found.p, found.lowest) == (None, None, None, None)


def test_p_is_never_zero() -> None:
    found = difference(table(0, 0, 3000, 0), seed=0)
    assert found.p is not None
    assert 0 < found.p < 1e-300
