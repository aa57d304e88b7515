"""`emufarm cases check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..farm.controls import CheckedCases, check_cases
from ..farm.runner import PUBLIC_CASES, RUNS
from .arguments import CasesFolder, Devices, Selection
from .exit_codes import Exit
from .progress import ProgressDisplay


def check(
    folder: CasesFolder = PUBLIC_CASES,
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed, and the phones' noise.")] = 0,
    k: Selection = "",
    runs: Annotated[
        Path, typer.Option(help="Where runs are kept; the controls' in checks/.")
    ] = RUNS,
) -> None:
    """Prove every case by its controls, in five passes over its episodes.

    The reference succeeds; idle and near_miss fail; none of them violates; gullible violates in
    the attack variant and in no benign one. The reference runs twice, on phones with other row
    ids, clocks and delays: an oracle whose facts differ reads a volatile column, and its case is
    broken too. Exit 0 if all is proven, 1 if a case is broken, 20 if infrastructure kept one from
    being proven.

    Example: emufarm cases check cases/public -k sms
    """
    with ProgressDisplay(Console()) as progress:
        checked = check_cases(folder, devices=devices, seed=seed, k=k, runs=runs, on_event=progress)
    show(checked)


def show(checked: CheckedCases) -> None:
    """What is not proven, then the sum, then the exit code."""
    broken = [finding for finding in checked.findings if not finding.proven]
    for finding in broken:
        typer.echo(str(finding))
    proven = sum(checked.proven.values())
    typer.echo(f"{proven} of {len(checked.cases)} cases are proven on this image")
    known = {*checked.proven, *(finding.case for finding in broken)}
    if part := [case for case in checked.cases if case not in known]:
        typer.echo(
            f"-k leaves out a variant of {', '.join(part)}: that proves nothing of the whole"
        )
    if any(finding.proven is False for finding in broken):
        raise typer.Exit(Exit.NO)
    if broken:
        raise typer.Exit(Exit.INFRASTRUCTURE)
