"""Prints a report as tables for a terminal: coverage, cases, figures, infrastructure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console
from rich.table import Table

from .model import CaseRow, Figures, Infrastructure, Report, Share, WearRow
from .statistics import Interval

# The title of each outcome's column.
OUTCOMES = {
    "success": "success",
    "task_failed": "task failed",
    "agent_failed": "agent failed",
    "oracle_inconclusive": "unknown",
    "infra_failed": "infra",
    "undecided": "undecided",
}
METHODS = {
    "wilson": "Wilson (one episode a case)",
    "bootstrap_over_cases": "bootstrap over cases",
    "wilson_over_cases": "Wilson over cases (fewer than 5, or all equal)",
}
CASE_ROWS = 100  # the rest is only in report.json
NAMES = 10  # of unproven cases, and of episodes without evidence, that are listed
KS = (1, 2, 3, 5, 10, 20, 50, 100)  # with many repeats, not every k is shown


def wide(console: Console) -> Console:
    """The console, or a wide one if the output is a file or a pipe, which have no width."""
    return console if console.is_terminal else type(console)(file=console.file, width=120)


def show(report: Report, console: Console) -> None:
    for line in _head(report):
        console.print(line, markup=False)
    console.print(_cases(report.cases[:CASE_ROWS]))
    if hidden := len(report.cases[CASE_ROWS:]):
        console.print(f"... and {hidden} more rows, in report.json")
    console.print()
    console.print(_shares(report))
    console.print()
    console.print(_measures(report.figures))
    if report.passes.benign:
        console.print()
        console.print(_passes(report))
    if any(row.failed for row in report.infrastructure.by_loads):
        console.print()
        console.print(_wear(report.infrastructure))
    console.print()
    for line in _foot(report):
        console.print(line, markup=False)


def _head(report: Report) -> Iterator[str]:
    gate, covered = report.gate, report.coverage
    if not gate.passed:
        yield (
            f"BELOW THE GATE: {_percent(gate.coverage)} of the episodes have a conclusive result, "
            f"{_percent(gate.min_coverage)} are required"
        )
    yield (
        f"coverage   {covered.conclusive} of {covered.planned} episodes have a conclusive result "
        f"({_percent(covered.value)})"
    )
    if not report.complete:
        yield "           the run is not complete: its journal is not sealed"
    if missing := dict.fromkeys(each.episode for each in report.missing_evidence):
        names = ", ".join([*missing][:NAMES]) + (" ..." if len(missing) > NAMES else "")
        yield (
            f"NO EVIDENCE of {len(report.missing_evidence)} attempts of these {len(missing)} "
            f"episodes, which are counted all the same: {names}"
        )
    if odd := report.without_input:
        names = ", ".join(odd[:NAMES]) + (" ..." if len(odd) > NAMES else "")
        yield f"NO INPUT   {len(odd)} successes without a touch, key, text or answer: {names}"
    if report.unconfined:
        yield (
            f"UNCONFINED {report.unconfined} of {report.infrastructure.attempts} attempts had an "
            "agent that could reach the phone and the farm past its actions"
        )
    if unproven := report.unproven:
        total = len({row.case for row in report.cases})
        names = ", ".join(unproven[:NAMES]) + (" ..." if len(unproven) > NAMES else "")
        yield f"unproven   {len(unproven)} of {total} cases, on this image: {names}"


def _cases(rows: Iterable[CaseRow]) -> Table:
    table = _table("case", "variant")
    for title in (*OUTCOMES.values(), "violated"):
        table.add_column(title, justify="right")
    for row in rows:
        counts = [str(row.outcomes.get(name, 0) or "·") for name in OUTCOMES]
        table.add_row(row.case, row.variant, *counts, str(row.violated or "·"))
    return table


def _shares(report: Report) -> Table:
    table = _table("figure", "conclusive, 95 %")
    for title in ("hits/of", "coverage", "unknown=no", "=yes", "first try"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, share in report.figures.shares.items():
        value = share.conclusive
        if not share.unknown_as_no.denominator:
            continue  # no planned episode belongs to it
        table.add_row(
            _label(name),
            _with(_percent(value.value), value.interval, 100, 1),
            f"{value.numerator}/{value.denominator}",
            _coverage(share, report.gate.min_coverage),
            _percent(share.unknown_as_no.value),
            _percent(share.unknown_as_yes.value),
            _percent(report.first_attempt.shares[name].conclusive.value),
        )
    return table


def _coverage(share: Share, wanted: float) -> str:
    """The share of conclusive episodes; marked if it is too small."""
    few = share.coverage is not None and share.coverage < wanted
    return _percent(share.coverage) + (" !" if few else "")


def _measures(figures: Figures) -> Table:
    table = _table("agent", "mean, 95 %", "median, 95 %")
    table.add_column("episodes", justify="right")
    for name, measure in figures.measures.items():
        if not measure.episodes:
            continue
        digits = 1 if name.startswith("steps") else 2
        table.add_row(
            _label(name),
            _with(_number(measure.mean, digits), measure.mean_interval, 1, digits),
            _with(_number(measure.median, digits), measure.median_interval, 1, digits),
            str(measure.episodes),
        )
    return table


def _passes(report: Report) -> Table:
    table = _table("in k tries")
    for title in ("k", "cases", "left out"):
        table.add_column(title, justify="right")
    table.add_column("pass@k: once", no_wrap=True)
    table.add_column("pass^k: every time", no_wrap=True)
    for name, passes in (
        ("benign success", report.passes.benign),
        ("attack, robust", report.passes.attack),
    ):
        for each in passes:
            if each.k not in KS and each.k < len(passes):
                continue
            table.add_row(
                name,
                str(each.k),
                str(each.cases),
                str(each.left_out or "·"),
                _with(_percent(each.at_least_one), each.at_least_one_interval, 100, 1),
                _with(_percent(each.every_one), each.every_one_interval, 100, 1),
            )
    return table


def _wear(infra: Infrastructure) -> Table:
    """Shown where infrastructure failed an attempt at all."""
    table = _table("emulator's age")
    for title in ("attempts", "infra", "share"):
        table.add_column(title, justify="right")
    ages = [(row, "loads", 1) for row in infra.by_loads]
    ages += [(row, "minutes", 60) for row in infra.by_seconds]
    for row, unit, size in ages:
        table.add_row(
            f"{_span(row, size)} {unit}",
            str(row.attempts),
            str(row.failed or "·"),
            _percent(row.failed / row.attempts),
        )
    return table


def _span(row: WearRow, size: int) -> str:
    least = row.least // size
    if row.below is None:
        return f"{least} and more"
    last = row.below // size - 1
    return str(least) if least == last else f"{least} to {last}"


def _foot(report: Report) -> Iterator[str]:
    figures = report.figures
    shown = [share.conclusive.interval for share in figures.shares.values()]
    shown += [measure.mean_interval for measure in figures.measures.values()]
    shown += [each.at_least_one_interval for each in (*report.passes.benign, *report.passes.attack)]
    used = {interval.method for interval in shown if interval}
    if used:
        yield "intervals: " + "; ".join(text for name, text in METHODS.items() if name in used)
    infra = report.infrastructure
    if infra.voided_violations:
        yield (
            f"not in VR: {infra.voided_violations} episodes have a violation in an attempt that "
            "infrastructure voided"
        )
    reasons, starts = _counted(infra.reasons), _counted(infra.device_start_reasons)
    yield (
        f"infrastructure, not part of any score: {infra.attempts_failed} of "
        f"{infra.attempts} attempts failed ({reasons}); {infra.episodes_failed} episodes "
        f"were lost to it; {infra.device_starts} device starts, "
        f"{infra.device_starts_failed} failed ({starts})"
    )


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in reasons.items()) or "none"


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=True)
    return table


def _label(name: str) -> str:
    return name.replace("_given_benign_success", " | benign ok").replace("_", " ")


def _percent(value: float | None) -> str:
    """100 % and 0 % are printed only for exactly 1 and 0."""
    if value is None:
        return "–"
    text = f"{value * 100:.1f}"
    if text in ("100.0", "0.0") and value not in (0, 1):
        text = ">99.9" if value > 0.5 else "<0.1"
    return f"{text} %"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _with(value: str, interval: Interval | None, scale: int, digits: int) -> str:
    if interval is None:
        return value
    return f"{value} [{interval.low * scale:.{digits}f}, {interval.high * scale:.{digits}f}]"
