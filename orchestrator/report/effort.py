"""Means and medians of the agent's steps and seconds, with intervals over cases. Pure.

All sums are of whole numbers (steps, milliseconds), so that they do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from statistics import median
from typing import NamedTuple

from .bootstrap import FEWEST, Ratio
from .figures import Pick, countable
from .model import EpisodeRow, Measure, Spent
from .statistics import Interval

# The value, and how many of it make one of the unit that is reported.
QUANTITIES: dict[str, tuple[Callable[[Spent], int], int]] = {
    "steps": (lambda spent: spent.steps, 1),
    "agent_seconds": (lambda spent: round(spent.agent_s * 1000), 1000),
    "attempt_seconds": (lambda spent: round(spent.seconds * 1000), 1000),
}


class Measured(NamedTuple):
    """One quantity of the attempts that reached the agent."""

    ordered: list[int]
    per: int
    mean: Ratio
    below: Ratio  # the share of attempts below the median, and half of those at it


def measure(rows: Sequence[EpisodeRow], pick: Pick, cases: Sequence[str]) -> dict[str, Measured]:
    """By quantity and variant: an attack changes what an episode costs."""
    place = {case: i for i, case in enumerate(cases)}
    spent: dict[str, list[tuple[int, Spent]]] = {"benign": [], "attack": []}
    for row in rows:
        found = countable(pick(row))
        if found is not None:
            spent[row.variant].append((place[row.case], found))
    return {
        f"{name}_{variant}": _measured([(i, value(each)) for i, each in found], per, cases)
        for name, (value, per) in QUANTITIES.items()
        for variant, found in spent.items()
    }


def _measured(values: Sequence[tuple[int, int]], per: int, cases: Sequence[str]) -> Measured:
    ordered = sorted(value for _, value in values)
    half = median(ordered) if ordered else 0
    sums, counts, below = ([0] * len(cases) for _ in range(3))
    for i, value in values:
        sums[i] += value
        counts[i] += 1
        below[i] += 2 * (value < half) + (value == half)
    alone = max(counts, default=0) <= 1
    return Measured(
        ordered,
        per,
        Ratio(tuple(sums), tuple(counts), share=False),
        Ratio(tuple(below), tuple(2 * count for count in counts), alone, scale=2),
    )


def to_measure(measured: Measured, known: Mapping[Ratio, Interval | None]) -> Measure:
    ordered, per, mean, below = measured
    average, spread, share = mean.value, known[mean], known[below]
    return Measure(
        episodes=len(ordered),
        cases=mean.cases,
        mean=None if average is None else average / per,
        mean_interval=spread and Interval(spread.low / per, spread.high / per, spread.method),
        median=median(ordered) / per if ordered else None,
        median_interval=_inverted(ordered, per, below, share)
        if share and below.cases >= FEWEST
        else None,
    )


def _inverted(ordered: Sequence[int], per: int, below: Ratio, share: Interval) -> Interval:
    """Woodruff's interval of a median: the interval of the share below it, read off the values."""
    value = below.value
    assert value is not None, "a share with an interval has a value"
    low, high = 0.5 + value - share.high, 0.5 + value - share.low
    return Interval(_at(ordered, low) / per, _at(ordered, high) / per, share.method)


def _at(ordered: Sequence[int], level: float) -> int:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[min(max(ceil(level * len(ordered)) - 1, 0), len(ordered) - 1)]
