"""`emufarm compare`: two runs of the same episodes, held against each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import UsageError
from ..report.compare import Wanted
from ..report.compare import compare as compared
from ..report.difference_table import show
from ..report.overlap import side
from ..report.table import wide

WORSE = 1


def compare(
    a: Annotated[Path, typer.Argument(help="The run to compare with.", metavar="RUN_A")],
    b: Annotated[Path, typer.Argument(help="The run in question.", metavar="RUN_B")],
    expression: Annotated[
        str, typer.Option("-k", help="Only what this matches: and, or, not, parentheses.")
    ] = "",
    common: Annotated[
        bool, typer.Option("--common", help="Only what is the same in both, if plans differ.")
    ] = False,
    across_images: Annotated[
        bool, typer.Option("--across-images", help="Though the phones' images differ.")
    ] = False,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit 1 where B is worse, at p < 0.05.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Compare two runs of the same episodes, figure by figure.

    Each with a test and an interval (docs/compare.md). Exit 0 whatever the difference, 2 where the
    runs cannot be compared.

    Example: emufarm compare runs/before runs/after --fail-if-worse
    """
    if a.resolve() == b.resolve():
        raise UsageError(f"{a} and {b} are one run; name two")
    found = compared(side(a), side(b), Wanted(expression, common, across_images))
    if as_json:
        sys.stdout.write(json.dumps(found.as_json(), indent=2, sort_keys=True) + "\n")
    else:
        show(found, wide(Console()))
    if fail_if_worse and found.worse:
        raise typer.Exit(WORSE)
