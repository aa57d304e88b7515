"""Intervals of figures by a bootstrap over cases, since episodes of one case are correlated.

Repeats of a case, and its two variants, are correlated: intervals that treat them as independent
are too narrow. So whole cases are drawn, with replacement, and every figure is computed from each
draw; the middle 95 % of its values is its interval (the percentile bootstrap).

Pure and repeatable: the seed comes from the plan. A case's sums are whole numbers and are packed
into one long integer, so that one addition adds all columns of a case, and 2,000 draws of 1,000
cases take about a second without a numeric library (docs/decisions/008).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from random import Random

from .statistics import Interval, newcombe, wilson

RESAMPLES = 2000
FEWEST = 5  # cases; fewer give too few different draws


@dataclass(frozen=True)
class Ratio:
    """A numerator and a denominator for every case, in one order for all ratios.

    Zero of zero is a case that the figure does not cover.
    """

    numerators: tuple[int, ...]
    denominators: tuple[int, ...]
    independent: bool = False  # no case has more than one episode in it: no clusters
    share: bool = True  # False: a mean, for which there is no closed form to fall back on
    scale: int = 1  # both are the counts times this, which makes fractions whole numbers

    @property
    def value(self) -> float | None:
        total = sum(self.denominators)
        return sum(self.numerators) / total if total else None

    @property
    def cases(self) -> int:
        return sum(denominator > 0 for denominator in self.denominators)

    @property
    def uniform(self) -> bool:
        """Every case has the same share: a bootstrap would wrongly give an interval of width 0."""
        total, of = sum(self.numerators), sum(self.denominators)
        pairs = zip(self.numerators, self.denominators, strict=True)
        return all(one * of == total * denominator for one, denominator in pairs)


def intervals(ratios: Iterable[Ratio], seed: int) -> dict[Ratio, Interval | None]:
    """Each ratio's interval, from draws that all of them share.

    None for a ratio whose denominator is 0, and for a mean with too few or uniform cases.
    """
    found = {ratio: _closed(ratio) for ratio in ratios}
    drawn = [
        ratio
        for ratio in found
        if not ratio.independent and ratio.cases >= FEWEST and not ratio.uniform
    ]
    return found | _spreads(drawn, seed)


def _closed(ratio: Ratio) -> Interval | None:
    value, cases = ratio.value, ratio.cases
    if value is None or not ratio.share:
        return None
    if ratio.independent:
        hits, n = sum(ratio.numerators) / ratio.scale, sum(ratio.denominators) // ratio.scale
        return Interval(*wilson(hits, n), "wilson")
    return Interval(*wilson(value * cases, cases), "wilson_over_cases")


def _spreads(ratios: Sequence[Ratio], seed: int) -> dict[Ratio, Interval]:
    both = [column for ratio in ratios for column in (ratio.numerators, ratio.denominators)]
    columns = list(dict.fromkeys(both))  # many share a denominator
    position = {column: i for i, column in enumerate(columns)}
    positions = [(position[ratio.numerators], position[ratio.denominators]) for ratio in ratios]
    values: list[list[float]] = [[] for _ in ratios]
    for sums in resampled(columns, seed):
        for found, (numerator, denominator) in zip(values, positions, strict=True):
            if sums[denominator]:
                found.append(sums[numerator] / sums[denominator])
    return {
        ratio: Interval(*middle(found), "bootstrap_over_cases")
        for ratio, found in zip(ratios, values, strict=True)
    }


def resampled(
    columns: Sequence[Sequence[int]], seed: int, times: int = RESAMPLES
) -> Iterator[tuple[int, ...]]:
    """The columns' sums over cases drawn with replacement, as many as there are; `times` draws.

    Only `Random.random` is used: Python guarantees the same numbers in every version.
    """
    if not columns:
        return
    packing = struct.Struct("<" + "".join(map(_width, columns)))
    cases = [int.from_bytes(packing.pack(*row), "little") for row in zip(*columns, strict=True)]
    n, draw = len(cases), Random(seed).random
    for _ in range(times):
        total = sum([cases[int(draw() * n)] for _ in range(n)])
        yield packing.unpack(total.to_bytes(packing.size, "little"))


def _width(column: Sequence[int]) -> str:
    """The narrowest field that holds every possible sum of a draw: narrow fields add faster."""
    most = max(column) * len(column)
    return next(code for code, size in (("H", 2), ("I", 4), ("Q", 8)) if most < 256**size)


def middle(values: Iterable[float]) -> tuple[float, float]:
    """The bounds of the middle 95 % of the values."""
    ordered = sorted(values)
    tail = 0.025 * len(ordered)
    return ordered[floor(tail)], ordered[ceil(len(ordered) - tail) - 1]


def difference(
    hits_a: Sequence[int], hits_b: Sequence[int], pairs: Sequence[int], seed: int
) -> Interval | None:
    """The interval of (hits of a - hits of b) / pairs, each given case by case."""
    total, cases = sum(pairs), sum(count > 0 for count in pairs)
    if not total:
        return None
    gains = tuple(one - other for one, other in zip(hits_a, hits_b, strict=True))
    if cases < FEWEST or Ratio(gains, tuple(pairs)).uniform:
        shares = (sum(hits_a) / total * cases, sum(hits_b) / total * cases)
        return Interval(*newcombe(*shares, cases), "newcombe_over_cases")
    found = [
        (one - other) / of for one, other, of in resampled((hits_a, hits_b, pairs), seed) if of
    ]
    return Interval(*middle(found), "bootstrap_over_cases")
