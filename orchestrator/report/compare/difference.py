"""By how much do two runs differ in one figure, and could that be chance? Pure.

Each pair is one episode, run by both. At one repeat the pairs are independent: McNemar's exact
test and Tango's interval. Repeats of a case are alike, so with repeats whole cases are permuted
and drawn. Both need pairs that can be told on both sides; what infrastructure or an oracle kept
from being told is counted, and the bounds say what it could have made of the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from ..bootstrap import difference
from ..statistics import Interval, Z, mcnemar_exact, paired_permutation

_HALVINGS = 60  # of an interval of length 2: to the last bit


@dataclass(frozen=True, slots=True)
class EpisodePair:
    """One episode's answers in both runs; None: it could not be told."""

    episode: str
    case: str
    a: bool | None
    b: bool | None


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure in both runs. Every difference is B's less A's."""

    pairs: int  # episodes of this figure
    told: int  # on both sides: what all but the bounds are made of
    untold_in_a: int  # left out, because only A could not tell
    untold_in_b: int
    untold_in_both: int
    hits_a: int
    hits_b: int
    only_a: int  # pairs that A holds and B does not
    only_b: int
    a: float | None  # shares of the told; None of nothing
    b: float | None
    difference: float | None
    interval: Interval | None
    p: float | None  # two-sided; never 0
    test: str
    lowest: float | None  # of all pairs, what A could not tell as yes, what B could not as no
    highest: float | None  # the other way round


def compared(pairs: Sequence[EpisodePair], seed: int) -> FigureDifference:
    """`seed` is that of the bootstrap, which only repeats need."""
    told = [pair for pair in pairs if pair.a is not None and pair.b is not None]
    hits_a, hits_b = sum(bool(pair.a) for pair in told), sum(bool(pair.b) for pair in told)
    only_a = sum(bool(pair.a) and not pair.b for pair in told)
    only_b = sum(bool(pair.b) and not pair.a for pair in told)
    repeated = len({pair.case for pair in pairs}) < len(pairs)
    n = len(told)
    interval: Interval | None = None
    p: float | None = None
    if told and repeated:
        p, interval = _over_cases(told, seed)
    elif told:
        p = mcnemar_exact(only_b, only_a)
        interval = Interval(*tango(only_b, only_a, n), "tango")
    return FigureDifference(
        pairs=len(pairs),
        told=n,
        untold_in_a=sum(pair.a is None and pair.b is not None for pair in pairs),
        untold_in_b=sum(pair.a is not None and pair.b is None for pair in pairs),
        untold_in_both=sum(pair.a is None and pair.b is None for pair in pairs),
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

    T. Tango, Statistics in Medicine 17 (1998) 891-908. It is wider than nothing where no pair
    changed, and never leaves -1 to 1.
    """
    if min(gained, lost) < 0 or n < 1 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost of {n} pairs")

    def score(delta: float) -> float:
        """How many standard errors the seen difference is above delta; falls as delta grows."""
        above = gained - lost - n * delta
        linear = (2 * n - gained + lost) * delta - gained - lost
        constant = -lost * delta * (1 - delta)
        # The likeliest share of lost pairs, were delta the true difference.
        share = (sqrt(linear * linear - 8 * n * constant) - linear) / (4 * n)
        variance = n * (2 * share + delta * (1 - delta))
        if variance <= 0:  # no pair changed, and delta says that none does
            return 0.0 if above == 0 else above * float("inf")
        return above / sqrt(variance)

    low = -1.0 if lost == n else _crossing(lambda delta: score(delta) > Z)
    high = 1.0 if gained == n else _crossing(lambda delta: score(delta) > -Z)
    return low, high


def _crossing(below: Callable[[float], bool]) -> float:
    """Where `below` ends being true."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


def _over_cases(told: Sequence[EpisodePair], seed: int) -> tuple[float, Interval | None]:
    cases = sorted({pair.case for pair in told})
    place = {case: index for index, case in enumerate(cases)}
    hits_a, hits_b, pairs = ([0] * len(cases) for _ in range(3))
    for pair in told:
        at = place[pair.case]
        hits_a[at] += bool(pair.a)
        hits_b[at] += bool(pair.b)
        pairs[at] += 1
    p = paired_permutation(b - a for a, b in zip(hits_a, hits_b, strict=True))
    return p, difference(hits_b, hits_a, pairs, seed)


def _bound(pairs: Sequence[EpisodePair], *, a: bool, b: bool) -> float | None:
    """The difference with what could not be told taken for these."""
    if not pairs:
        return None
    hits_a = sum(a if pair.a is None else pair.a for pair in pairs)
    hits_b = sum(b if pair.b is None else pair.b for pair in pairs)
    return (hits_b - hits_a) / len(pairs)
