"""pass@k and pass^k: the chance of success in at least one of k tries, and in all k. Pure.

The unbiased estimates of each case, averaged over cases: each case has the same weight, however
many of its episodes are conclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import NamedTuple

from .bootstrap import Ratio
from .figures import Counted
from .model import PassAtK
from .statistics import Interval, pass_at_k, pass_hat_k

MAX_K = 100  # however many repeats there are
SCALE = 10**6  # makes estimates whole numbers, for the bootstrap's sums

Estimator = Callable[[int, int, int], float]


class Estimated(NamedTuple):
    value: float | None
    ratio: Ratio  # the same value, rounded


class Tries(NamedTuple):
    k: int
    cases: int
    left_out: int
    episodes: int
    at_least_one: Estimated
    every_one: Estimated


def tries(counted: Counted, repeats: int) -> list[Tries]:
    """For every k; empty if there is only one repeat."""
    if repeats == 1:
        return []
    return [_tries(counted, k) for k in range(1, min(repeats, MAX_K) + 1)]


def _tries(counted: Counted, k: int) -> Tries:
    enough = sum(n >= k for n in counted.known)
    planned = sum(n > 0 for n in counted.planned)
    return Tries(
        k,
        enough,
        planned - enough,
        sum(n for n in counted.known if n >= k),
        _estimated(counted, k, pass_at_k),
        _estimated(counted, k, pass_hat_k),
    )


def _estimated(counted: Counted, k: int, estimator: Estimator) -> Estimated:
    estimates = [
        estimator(n, c, k) if n >= k else None
        for n, c in zip(counted.known, counted.hits, strict=True)
    ]
    known = [estimate for estimate in estimates if estimate is not None]
    ratio = Ratio(
        tuple(round(SCALE * (estimate or 0)) for estimate in estimates),
        tuple(SCALE * (estimate is not None) for estimate in estimates),
        scale=SCALE,
    )
    return Estimated(fmean(known) if known else None, ratio)


def to_record(tried: Tries, known: Mapping[Ratio, Interval | None]) -> PassAtK:
    once, always = tried.at_least_one, tried.every_one
    return PassAtK(
        tried.k,
        tried.cases,
        tried.left_out,
        tried.episodes,
        once.value,
        known[once.ratio],
        always.value,
        known[always.ratio],
    )
