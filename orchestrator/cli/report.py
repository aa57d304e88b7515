"""`emufarm report`: computes a run's report again, writes it and shows it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..farm.runs import RUNS, find_run, latest_run
from ..report import build
from ..report.model import Report
from ..report.table import show, wide
from .arguments import AsJson, Runs
from .output import say
from .plain_console import PlainConsole


def report(
    run: Annotated[
        str | None,
        typer.Argument(help="A run's name or its folder [default: the latest].", metavar="RUN"),
    ] = None,
    runs: Runs = RUNS,
    min_coverage: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Warn if a lower share of episodes is conclusive (0..1). It applies to what is "
            "shown; the file always uses the default.",
        ),
    ] = build.MIN_COVERAGE,
    as_json: AsJson = False,
) -> None:
    """Compute a run's report again, write it, and show it.

    It is computed from the plan and the journal; docs/numbers.md explains each number. Exit 0
    whatever the result is.

    Example: emufarm report runs/20310512-091500-ab12cd
    """
    chosen = find_run(run, runs) if run else latest_run(runs)
    written = build.write(chosen)
    shown = replace(written, gate=build.gate(written.coverage, min_coverage))
    show_report(shown, chosen, as_json=as_json)


def show_report(report: Report, folder: Path, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.buffer.writelines(build.serialized(report))
    else:
        show(report, wide(PlainConsole()))
        say(f"report     {folder / build.NAME}")
