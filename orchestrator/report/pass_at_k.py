"""pass@k and pass^k: the chance of success in at least one of k tries, and in all k. Pure.

The unbiased estimates of each case, averaged over cases: each case has the same weight, however
many of its episodes are conclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from .bootstrap import Ratio
from .figures import Counted
from .model import PassAtK
from .statistics import Interval, pass_at_k, pass_hat_k

MAX_K = 100  # however many repeats there are
SCALE = 10**6  # makes estimates whole numbers, for the bootstrap's sums

Estimator = Callable[[int, int, int], float]


class Tries(NamedTuple):
    """The estimates for one k, and the same as ratios, rounded, for their intervals."""

    estimates: PassAtK  # without intervals
    at_least_one: Ratio
    every_one: Ratio


def tries(counted: Counted, repeats: int) -> list[Tries]:
    """For every k; empty if there is only one repeat."""
    if repeats == 1:
        return []
    return [_tries(counted, k) for k in range(1, min(repeats, MAX_K) + 1)]


def _tries(counted: Counted, k: int) -> Tries:
    enough = sum(n >= k for n in counted.known)
    left_out = sum(n > 0 for n in counted.planned) - enough
    episodes = sum(n for n in counted.known if n >= k)
    (once, once_ratio), (always, always_ratio) = (
        _estimated(counted, k, estimator) for estimator in (pass_at_k, pass_hat_k)
    )
    estimates = PassAtK(k, enough, left_out, episodes, once, None, always, None)
    return Tries(estimates, once_ratio, always_ratio)


def _estimated(counted: Counted, k: int, estimator: Estimator) -> tuple[float | None, Ratio]:
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
    return fmean(known) if known else None, ratio


def to_record(tried: Tries, known: Mapping[Ratio, Interval | None]) -> PassAtK:
    return replace(
        tried.estimates,
        at_least_one_interval=known[tried.at_least_one],
        every_one_interval=known[tried.every_one],
    )
