"""`emufarm report`: the report again, from what a run's folder holds."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import UsageError
from ..report import build
from ..report.table import show, wide


def report(
    place: Annotated[
        Path | None, typer.Argument(help="The run's folder [default: the latest].", metavar="RUN")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
    min_coverage: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Say so first if fewer episodes have a conclusive result (0..1). What is shown "
            "is held against it; the file is always held against the default.",
        ),
    ] = build.MIN_COVERAGE,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Compute a run's report again, write it, and show it.

    It is made of the plan and the journal; docs/numbers.md says how each number is read. Exit 0
    whatever it says.

    Example: emufarm report runs/20310512-091500-ab12cd
    """
    chosen = place or latest(runs)
    written = build.write(chosen)
    result = replace(written, gate=build.gate(written.coverage, min_coverage))
    if as_json:
        sys.stdout.buffer.writelines(build.spelled(result))
        return
    show(result, wide(Console()))
    typer.echo(f"report     {chosen / build.NAME}")


def latest(runs: Path) -> Path:
    found = sorted(runs.glob("*/plan.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"there is no run in {runs}: start one with `emufarm run`")
    return found[-1].parent
