"""`emufarm compare`: compares two runs of the same episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from ..farm.runs import RUNS
from ..farm.runs import compare as compare_runs
from ..report.compare.table import show
from ..report.table import wide
from .arguments import AsJson, Runs, Selection
from .exit_codes import Exit
from .output import print_json
from .plain_console import PlainConsole


def compare(
    a: Annotated[str, typer.Argument(help="The run to compare with.", metavar="RUN_A")],
    b: Annotated[str, typer.Argument(help="The run in question.", metavar="RUN_B")],
    runs: Runs = RUNS,
    k: Selection = "",
    common: Annotated[
        bool, typer.Option("--common", help="Compare common episodes if plans differ.")
    ] = False,
    across_images: Annotated[
        bool, typer.Option("--across-images", help="Compare runs on different images.")
    ] = False,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit 1 where B is worse, at p < 0.05.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs of the same episodes, figure by figure.

    Each figure has a test and an interval (docs/compare.md). Exit 0 whatever the difference is, 2
    if the runs cannot be compared.

    Example: emufarm compare runs/before runs/after --fail-if-worse
    """
    found = compare_runs(a, b, k=k, common=common, across_images=across_images, runs=runs)
    if as_json:
        print_json(found.as_json())
    else:
        show(found, wide(PlainConsole()))
    if fail_if_worse and found.worse:
        raise typer.Exit(Exit.NO)
