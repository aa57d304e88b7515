"""`emufarm report`: the report again, from what a run's folder holds."""

from __future__ import annotations

import json
import sys
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
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Compute a run's report from its journal, write it, and show it.

    Example: emufarm report runs/20310512-091500-ab12cd
    """
    chosen = place or latest(runs)
    result = build.write(chosen)
    if as_json:
        sys.stdout.write(json.dumps(result, indent=2, sort_keys=True) + "\n")
        return
    typer.echo(f"run        {chosen}")
    show(result, wide(Console()))


def latest(runs: Path) -> Path:
    found = sorted(runs.glob("*/plan.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"there is no run in {runs}: start one with `emufarm run`")
    return found[-1].parent
