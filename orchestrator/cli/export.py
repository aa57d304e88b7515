"""`emufarm export`: writes a run's episodes as CSV or JUnit XML."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ..errors import UsageError
from ..farm.runs import RUNS, find_run
from ..report import exports
from ..report.episodes import RunResults, read_results
from .arguments import RunName, Runs

STDOUT = Path("-")


def export(
    run: RunName,
    runs: Runs = RUNS,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="A row for every episode; - is stdout.")
    ] = None,
    xml: Annotated[
        Path | None, typer.Option("--junit", help="JUnit XML for a CI server; - is stdout.")
    ] = None,
) -> None:
    """Write a run's episodes as CSV, as JUnit XML, or as both.

    Example: emufarm export runs/20310512-091500-ab12cd --csv episodes.csv --junit junit.xml
    """
    if csv is None and xml is None:
        raise UsageError("nothing to write; give --csv FILE, --junit FILE, or both")
    if csv == xml:
        raise UsageError(f"--csv and --junit both go to {csv}; name two files")
    results = read_results(find_run(run, runs))
    if csv is not None:
        _write(exports.write_csv, results, csv)
    if xml is not None:
        _write(exports.write_junit, results, xml)


def _write(writer: Callable[[RunResults, TextIO], None], results: RunResults, path: Path) -> None:
    if path == STDOUT:
        # As in a file: UTF-8, and line ends as the writer has them.
        out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
        writer(results, out)
        out.detach()
        return
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer(results, file)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
