"""Our closed forms against scipy, statsmodels, brute force and published values."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from orchestrator.report.statistics import (
    Z,
    mcnemar_exact,
    newcombe,
    paired_permutation,
    pass_at_k,
    pass_hat_k,
    wilson,
)


@st.composite
def hits_of(draw: st.DrawFn, most: int = 2000) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def test_z_is_the_normal_distributions_97_5_percent_point() -> None:
    assert pytest.approx(stats.norm.ppf(0.975), abs=1e-15) == Z


@given(hits_of())
def test_wilson_is_what_statsmodels_and_scipy_say(of: tuple[int, int]) -> None:
    hits, n = of
    theirs = proportion_confint(hits, n, method="wilson")
    also = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits, n) == pytest.approx(theirs, abs=1e-12)
    assert wilson(hits, n) == pytest.approx((also.low, also.high), abs=1e-12)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


@given(hits_of())
def test_wilson_holds_the_share_and_stays_a_share(of: tuple[int, int]) -> None:
    hits, n = of
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    assert low < high


@given(hits_of(200))
def test_wilson_rises_with_the_hits(of: tuple[int, int]) -> None:
    hits, n = of
    if hits < n:
        (low, high), (more_low, more_high) = wilson(hits, n), wilson(hits + 1, n)
        assert low < more_low
        assert high < more_high or high == more_high == 1


@given(hits_of(200))
def test_wilson_narrows_as_the_same_share_is_seen_more_often(of: tuple[int, int]) -> None:
    hits, n = of
    (low, high), (more_low, more_high) = wilson(hits, n), wilson(3 * hits, 3 * n)
    assert more_high - more_low < high - low


def test_nothing_tried_leaves_everything_possible() -> None:
    assert wilson(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="5 hits in 4 tries"):
        wilson(5, 4)


@given(
    st.integers(1, 400).flatmap(
        lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))
    )
)
def test_newcombe_is_what_statsmodels_says(of: tuple[int, int, int]) -> None:
    a, b, n = of
    theirs = confint_proportions_2indep(a, n, b, n, method="newcomb")
    assert newcombe(a, b, n) == pytest.approx(theirs, abs=1e-10)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_what_statsmodels_and_scipy_say(b: int, c: int) -> None:
    theirs = mcnemar([[0, b], [c, 0]], exact=True).pvalue
    assert mcnemar_exact(b, c) == pytest.approx(theirs, rel=1e-9)
    if b + c:
        assert mcnemar_exact(b, c) == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)


def test_mcnemar_of_many_pairs_neither_overflows_nor_vanishes() -> None:
    assert mcnemar_exact(4000, 4000) == 1
    assert mcnemar_exact(2800, 3200) == pytest.approx(stats.binomtest(2800, 6000).pvalue, rel=1e-9)


@given(st.integers(0, 40), st.integers(0, 40))
def test_permuting_single_pairs_is_mcnemars_test(b: int, c: int) -> None:
    assert paired_permutation([1] * b + [-1] * c + [0] * 3) == mcnemar_exact(b, c)


@given(st.lists(st.integers(-6, 6), max_size=9))
def test_the_permutation_test_counts_every_pattern_of_signs(differences: list[int]) -> None:
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(each >= abs(sum(differences)) for each in sums) / len(sums)
    assert paired_permutation(differences) == expected


def test_the_permutation_test_is_what_scipy_says() -> None:
    a = np.array([5, 3, 4, 5, 2, 0, 1, 5, 4, 3])
    b = np.array([3, 3, 1, 4, 2, 1, 0, 2, 4, 1])
    theirs = stats.permutation_test(
        (a, b), lambda x, y: np.sum(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert paired_permutation((a - b).tolist()) == pytest.approx(theirs.pvalue)


@given(hits_of(9), st.integers(1, 9))
def test_passing_in_k_tries_is_the_share_of_all_choices_of_k(of: tuple[int, int], k: int) -> None:
    c, n = of
    if k <= n:
        tries = [True] * c + [False] * (n - c)
        chosen = list(combinations(tries, k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
        assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@given(hits_of(100), st.integers(1, 99))
def test_more_tries_make_once_likelier_and_always_less_likely(of: tuple[int, int], k: int) -> None:
    c, n = of
    if k < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1) + 1e-12
        assert pass_hat_k(n, c, k) >= pass_hat_k(n, c, k + 1)


@pytest.mark.parametrize(("n", "c", "k"), [(200, 13, 1), (200, 13, 10), (200, 13, 100), (5, 5, 5)])
def test_pass_at_k_is_the_product_form_that_its_authors_published(n: int, c: int, k: int) -> None:
    """Chen et al., Evaluating Large Language Models Trained on Code (2021), figure 3."""
    theirs = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    assert pass_at_k(n, c, k) == pytest.approx(theirs, rel=1e-9)
    assert pass_hat_k(n, c, k) == pytest.approx(stats.hypergeom.pmf(k, n, c, k), rel=1e-9)


def test_more_tries_than_there_were_say_nothing() -> None:
    with pytest.raises(ValueError, match="k = 4 of 3 tries"):
        pass_at_k(3, 1, 4)
    assert pass_hat_k(4, 2, 2) == 1 / comb(4, 2)
