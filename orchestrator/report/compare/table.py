"""Prints a comparison as tables for a terminal: warnings, then figures, then episodes."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .comparison import HIGHER_IS_BETTER, SIGNIFICANT, Comparison
from .difference import FigureDifference

SHOWN = 50  # discordant episodes; --json has all
TESTS = {
    "mcnemar_exact": "McNemar's exact test",
    "permutation_over_cases": "exact permutation over cases",
}


def show(found: Comparison, console: Console) -> None:
    def line(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    for text in found.warnings:
        line(f"warning    {text}")
    for letter, side in (("A", found.a), ("B", found.b)):
        run, agent = side.results.run, side.results.plan.agent
        line(f"{letter}          {run}  agent {agent}  coverage {_percent(side.gate.coverage)}")
    line(f"paired     {len(found.overlap.same)} episodes; every difference is B - A")
    console.print(_figures(found))
    compared = [each for each in found.figures.values() if each.pairs]
    tests = dict.fromkeys(TESTS[each.test] for each in compared)
    methods = dict.fromkeys(each.interval.method for each in compared if each.interval)
    line(f"p: {', '.join(tests)}; interval: {', '.join(methods).replace('_', ' ')}")
    if any(each.conclusive < each.pairs for each in found.figures.values()):
        line("bounds: the difference with all unknown answers counted against B, and for B")
    if found.worse:
        line(f"B is worse in {', '.join(found.worse)} (p < {SIGNIFICANT})")
    if found.discordant:
        line(f"the runs disagree on {len(found.discordant)} episodes")
        console.print(_episodes(found))
    if len(found.discordant) > SHOWN:
        line(f"and {len(found.discordant) - SHOWN} more; --json has all")


def _figures(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    for name in ("A", "B", "B - A", "95 % interval", "p", "conclusive",
                 "unknown A/B/both", "bounds"):  # fmt: skip
        table.add_column(name, justify="right")
    for name, each in found.figures.items():
        table.add_row(
            name, _percent(each.a), _percent(each.b), _points(each.difference), _interval(each),
            _p(each.p), f"{each.conclusive}/{each.pairs}",
            f"{each.unknown_in_a}/{each.unknown_in_b}/{each.unknown_in_both}",
            _bounds(each, HIGHER_IS_BETTER[name]),
        )  # fmt: skip
    return table


def _episodes(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("episode", "A", "B", "figures"):
        table.add_column(name, overflow="fold")
    for each in found.discordant[:SHOWN]:
        table.add_row(each.episode, each.a, each.b, " ".join(each.figures))
    return table


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f} %"


def _points(value: float | None) -> str:
    """A difference of shares, in percentage points."""
    return "–" if value is None else f"{value * 100:+.1f}"


def _interval(each: FigureDifference) -> str:
    within = each.interval
    return f"{_points(within.low)} to {_points(within.high)}" if within else "–"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _bounds(each: FigureDifference, higher_is_better: bool) -> str:
    ends = (each.lowest, each.highest) if higher_is_better else (each.highest, each.lowest)
    return "–" if each.lowest is None else " to ".join(_points(end) for end in ends)
