"""The difference of one figure between two paired runs, with its p value and interval. Pure.

Each pair is one episode in both runs. At one repeat the pairs are independent: McNemar's exact
test and Tango's interval. Repeats of a case are correlated, so with repeats whole cases are
permuted and drawn. Both use only pairs that are conclusive in both runs; the others are counted,
and the bounds show how far they could change the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from ..bootstrap import difference as bootstrap_difference
from ..statistics import Interval, Z, mcnemar_exact, paired_permutation

_HALVINGS = 60  # of an interval of length 2: exact to the last bit


@dataclass(frozen=True, slots=True)
class EpisodePair:
    """One episode's answers in both runs; None: unknown."""

    episode: str
    case: str
    a: bool | None
    b: bool | None


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure in both runs. Every difference is B minus A.

    The field names are keys of `emufarm compare --json`.
    """

    pairs: int  # episodes of this figure
    conclusive: int  # in both runs; everything but the bounds is computed from these
    unknown_in_a: int  # left out because the answer is unknown in A only
    unknown_in_b: int
    unknown_in_both: int
    hits_a: int
    hits_b: int
    only_a: int  # pairs that hold in A and not in B
    only_b: int
    a: float | None  # shares of the conclusive pairs; None if there are none
    b: float | None
    difference: float | None
    interval: Interval | None
    p: float | None  # two-sided; never 0
    test: str
    lowest: float | None  # over all pairs, with the unknown as yes in A and as no in B
    highest: float | None  # with the unknown as no in A and as yes in B


def difference(pairs: Sequence[EpisodePair], seed: int) -> FigureDifference:
    """`seed` is for the bootstrap, which only repeats need."""
    known = [pair for pair in pairs if pair.a is not None and pair.b is not None]
    hits_a, hits_b = sum(bool(pair.a) for pair in known), sum(bool(pair.b) for pair in known)
    only_a = sum(bool(pair.a) and not pair.b for pair in known)
    only_b = sum(bool(pair.b) and not pair.a for pair in known)
    repeated = len({pair.case for pair in pairs}) < len(pairs)
    n = len(known)
    interval: Interval | None = None
    p: float | None = None
    if known and repeated:
        p, interval = _over_cases(known, seed)
    elif known:
        p = mcnemar_exact(only_b, only_a)
        interval = Interval(*tango(only_b, only_a, n), "tango")
    return FigureDifference(
        pairs=len(pairs),
        conclusive=n,
        unknown_in_a=sum(pair.a is None and pair.b is not None for pair in pairs),
        unknown_in_b=sum(pair.a is not None and pair.b is None for pair in pairs),
        unknown_in_both=sum(pair.a is None and pair.b is None for pair in pairs),
        hits_a=hits_a,
        hits_b=hits_b,
        only_a=only_a,
        only_b=only_b,
        a=hits_a / n if n else None,
        b=hits_b / n if n else None,
        difference=(hits_b - hits_a) / n if n else None,
        interval=interval,
        p=None if p is None else max(p, sys.float_info.min),
        test="permutation_over_cases" if repeated else "mcnemar_exact",
        lowest=_bound(pairs, a=True, b=False),
        highest=_bound(pairs, a=False, b=True),
    )


def tango(gained: int, lost: int, n: int) -> tuple[float, float]:
    """Tango's score interval of (gained - lost) / n, over n independent pairs.

    T. Tango, Statistics in Medicine 17 (1998) 891-908. It is wider than 0 even if no pair
    changed, and always within -1 to 1.
    """
    if min(gained, lost) < 0 or n < 1 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost of {n} pairs")

    def score(delta: float) -> float:
        """The observed difference minus delta, in standard errors; decreases with delta."""
        above = gained - lost - n * delta
        linear = (2 * n - gained + lost) * delta - gained - lost
        constant = -lost * delta * (1 - delta)
        # The most likely share of lost pairs if delta were the true difference.
        share = (sqrt(linear * linear - 8 * n * constant) - linear) / (4 * n)
        variance = n * (2 * share + delta * (1 - delta))
        if variance <= 0:  # under delta no pair changes
            return 0.0 if above == 0 else above * float("inf")
        return above / sqrt(variance)

    low = -1.0 if lost == n else _crossing(lambda delta: score(delta) > Z)
    high = 1.0 if gained == n else _crossing(lambda delta: score(delta) > -Z)
    return low, high


def _crossing(below: Callable[[float], bool]) -> float:
    """The point up to which `below` is true."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


def _over_cases(known: Sequence[EpisodePair], seed: int) -> tuple[float, Interval | None]:
    cases = sorted({pair.case for pair in known})
    position = {case: index for index, case in enumerate(cases)}
    hits_a, hits_b, pairs = ([0] * len(cases) for _ in range(3))
    for pair in known:
        at = position[pair.case]
        hits_a[at] += bool(pair.a)
        hits_b[at] += bool(pair.b)
        pairs[at] += 1
    p = paired_permutation(b - a for a, b in zip(hits_a, hits_b, strict=True))
    return p, bootstrap_difference(hits_b, hits_a, pairs, seed)


def _bound(pairs: Sequence[EpisodePair], *, a: bool, b: bool) -> float | None:
    """The difference over all pairs, with unknown answers replaced by these."""
    if not pairs:
        return None
    hits_a = sum(a if pair.a is None else pair.a for pair in pairs)
    hits_b = sum(b if pair.b is None else pair.b for pair in pairs)
    return (hits_b - hits_a) / len(pairs)
