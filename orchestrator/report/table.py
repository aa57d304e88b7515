"""The report for a person at a terminal: coverage first, then the figures, infrastructure apart."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

# Each outcome with its column's title.
OUTCOMES = {
    "success": "success",
    "task_failed": "task failed",
    "agent_failed": "agent failed",
    "oracle_inconclusive": "unknown",
    "infra_failed": "infra",
    "undecided": "undecided",
}


def wide(console: Console) -> Console:
    """A file or a pipe has no width of its own: tables need not be squeezed into 80 columns."""
    return console if console.is_terminal else Console(file=console.file, width=120)


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f} %"


def show(report: dict[str, Any], console: Console) -> None:
    covered = report["coverage"]
    console.print(
        f"coverage   {covered['hits']} of {covered['planned']} episodes have a conclusive "
        f"result ({percent(covered['value'])})"
    )
    if not report["complete"]:
        console.print("           the run is not complete: its last word is not in the journal")
    console.print(_cases(report))
    console.print(_figures(report))
    infra = report["infrastructure"]
    reasons = ", ".join(f"{name} {count}" for name, count in infra["reasons"].items()) or "none"
    console.print(
        f"infrastructure, apart from every score: {infra['attempts_failed']} of "
        f"{infra['attempts']} attempts failed ({reasons}); {infra['episodes_failed']} episodes "
        f"were lost to it; {infra['device_starts']} device starts, "
        f"{infra['device_starts_failed']} failed",
        soft_wrap=True,
    )


def _cases(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("case", no_wrap=True)
    table.add_column("variant", no_wrap=True)
    for title in OUTCOMES.values():
        table.add_column(title, justify="right")
    table.add_column("violated", justify="right")
    for row in report["cases"]:
        counts = [str(row["outcomes"].get(name, 0) or "·") for name in OUTCOMES]
        table.add_row(row["case"], row["variant"], *counts, str(row["violated"] or "·"))
    return table


def _figures(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in ("conclusive", "hits", "of", "if unknown = no", "if unknown = yes", "first try"):
        table.add_column(name, justify="right")
    for name, share in report["figures"].items():
        table.add_row(
            name,
            percent(share["value"]),
            str(share["hits"]),
            f"{share['conclusive']}/{share['planned']}",
            percent(share["lower"]),
            percent(share["upper"]),
            percent(report["first_attempt_figures"][name]["value"]),
        )
    return table
