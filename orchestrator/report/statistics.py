"""Closed-form statistics: intervals, McNemar's and permutation tests, pass@k estimators. Pure.

Computed with whole numbers where possible, so that a result is the same to the last bit on any
machine. Resampling is in bootstrap.py. tests/report/test_statistics.py compares every function
with scipy or statsmodels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb, sqrt
from typing import Literal

Z = 1.959963984540054  # the 97.5 % point of the normal distribution: all intervals are of 95 %

Method = Literal[
    "wilson", "wilson_over_cases", "bootstrap_over_cases", "newcombe_over_cases", "tango"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval, and the method that computed it."""

    low: float
    high: float
    method: Method


def wilson(hits: float, n: int) -> tuple[float, float]:
    """Wilson's score interval of `hits` in `n` independent tries; (0, 1) if n is 0.

    `hits` need not be a whole number: over cases it is the sum of the cases' own shares.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} hits in {n} tries")
    if n == 0:
        return 0.0, 1.0
    share, spread = hits / n, Z * Z / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends rounding would give a value just off 0 or 1.
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return low, high


def newcombe(hits_a: float, hits_b: float, n: int) -> tuple[float, float]:
    """Newcombe's interval of share a minus share b, each of `n`, as if they were independent.

    For positively correlated pairs it is too wide, never too narrow.
    """
    if n == 0:
        return -1.0, 1.0
    (low_a, high_a), (low_b, high_b) = wilson(hits_a, n), wilson(hits_b, n)
    a, b = hits_a / n, hits_b / n
    down = sqrt((a - low_a) ** 2 + (high_b - b) ** 2)
    up = sqrt((high_a - a) ** 2 + (b - low_b) ** 2)
    return max(-1.0, a - b - down), min(1.0, a - b + up)


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p of McNemar's exact test: b pairs changed one way and c the other.

    For one repeat only: several pairs of one case are not independent.
    """
    if b < 0 or c < 0:
        raise ValueError(f"{b} and {c} are not counts")
    n, fewer = b + c, min(b, c)
    if b == c:
        return 1.0
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    return 2 * tail / (1 << n)


def paired_permutation(differences: Iterable[int]) -> float:
    """Two-sided p of the exact paired permutation test over cases.

    One difference per case: its hits in run a minus those in run b. If the runs do not differ, each
    case's sign is random; p is the share of all sign patterns whose sum is at least as far from
    zero as the observed one. A convolution counts all of them, so no seed is needed.
    """
    changed = [difference for difference in differences if difference]
    observed, sizes = sum(changed), [abs(difference) for difference in changed]
    total = sum(sizes)
    ways = [1]  # ways[s]: the number of patterns whose positive differences sum to s
    for size in sizes:
        none = [0] * size
        ways = [out + into for out, into in zip(ways + none, none + ways, strict=True)]
    # A pattern's sum is 2 s - total.
    extreme = sum(count for s, count in enumerate(ways) if abs(2 * s - total) >= abs(observed))
    return extreme / (1 << len(sizes))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that at least one of k tries succeeds, if c of n did."""
    _check(n, c, k)
    return 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that all k tries succeed (pass^k), if c of n did."""
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"k = {k} of {n} tries with {c} successes")
