"""`emufarm doctor`: shows what a run would record of this machine, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table

from ..farm.doctor import Advice, Facts, examine, gather, why_unknown
from ..farm.runs import RUNS
from ..report.table import wide
from .arguments import AsJson, Runs
from .exit_codes import Exit
from .output import print_json


def doctor(runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Show what a run would record of this machine.

    Also what is missing and what to do about it. Exit 0 if a run can start, 1 if none can.

    Example: emufarm doctor --json
    """
    facts = gather(runs)
    findings = examine(facts)
    if as_json:
        print_json({"facts": facts, "findings": [asdict(finding) for finding in findings]})
    else:
        show(facts, findings, wide(Console()))
    if any(finding.level == "cannot run" for finding in findings):
        raise typer.Exit(Exit.NO)


def show(facts: Facts, findings: list[Advice], console: Console) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("fact", no_wrap=True)
    table.add_column("value", overflow="fold")
    for name, value in _rows("", facts):
        table.add_row(name, value)
    console.print(table, markup=False)
    for finding in findings:
        console.print(f"\n{finding.level.upper()}  {finding.what}", markup=False, highlight=False)
        console.print(f"  {finding.do}", markup=False, highlight=False)
    stopped = any(finding.level == "cannot run" for finding in findings)
    conclusion = "no run can start here" if stopped else "a run can start here: make smoke"
    console.print(f"\n{conclusion}", highlight=False)


def _rows(prefix: str, facts: Facts) -> list[tuple[str, str]]:
    rows = []
    for name, value in facts.items():
        key = f"{prefix}{name}"
        if why := why_unknown(value):
            rows.append((key, f"unknown: {why}"))
        elif isinstance(value, Mapping):
            rows += _rows(f"{key}.", value)
        else:
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            rows.append((key, shown.replace("\n", "; ")))
    return rows
