"""`emufarm cases`: lists, writes and proves cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..cases.load import LoadedCase, load_cases
from ..cases.new_case import write_new
from ..cases.select import Keep, no_match, selection
from ..farm.controls import CheckedCases, check_cases
from ..farm.runner import PUBLIC_CASES
from ..farm.runs import RUNS
from ..folders import find_cases
from .arguments import CasesFolder, Devices, Selection
from .exit_codes import Exit
from .output import say, table
from .progress import ProgressDisplay

app = typer.Typer(help="List, write and prove cases.", no_args_is_help=True)

HEAD = ("id", "tags", "variants", "channel", "steps", "seconds")


@app.command("list")
def list_(
    folder: Annotated[Path, typer.Argument(help="Where the cases are.")] = Path("cases"),
    k: Selection = "",
) -> None:
    """List the cases below a folder, or report their mistakes.

    Example: emufarm cases list cases/public -k "files and not attack"
    """
    keep = selection(k)
    cases = load_cases(find_cases(folder))
    rows = [_row(loaded, keep) for loaded in cases]
    kept = [row for row in rows if row[2]]
    if not kept:
        raise no_match(k, (loaded.case for loaded in cases))
    say(table(HEAD, kept))
    say("1 case" if len(kept) == 1 else f"{len(kept)} cases")


def _row(loaded: LoadedCase, keep: Keep) -> tuple[object, ...]:
    case = loaded.case
    variants = [variant for variant in case.variants if keep(case, variant)]
    channel = case.attack.labels.channel if case.attack and "attack" in variants else "-"
    seconds = f"{case.budget.seconds:g}"
    tags = " ".join(case.tags) or "-"
    return case.id, tags, " ".join(variants), channel, case.budget.steps, seconds


@app.command()
def new(
    id: Annotated[str, typer.Argument(help="Its name: lower-case letters, digits and _.")],
    folder: Annotated[Path, typer.Option(help="Where its folder goes.")] = Path("cases/public"),
) -> None:
    """Write a commented, working case as a template for a new one.

    Example: emufarm cases new file_tidy
    """
    path = write_new(folder, id)
    say(f"wrote {path}; change it, then `emufarm cases list {path.parent}` reads it")


@app.command()
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
    broken too. Exit 0 if all is proven, 1 if a case is broken, 20 if infrastructure prevented
    a proof.

    Example: emufarm cases check cases/public -k sms
    """
    with ProgressDisplay() as progress:
        checked = check_cases(folder, devices=devices, seed=seed, k=k, runs=runs, on_event=progress)
    _show(checked)


def _show(checked: CheckedCases) -> None:
    """What is not proven, then the sum, then the exit code."""
    broken = [finding for finding in checked.findings if not finding.proven]
    for finding in broken:
        say(str(finding))
    proven = sum(checked.proven.values())
    say(f"{proven} of {len(checked.cases)} cases are proven on this image")
    known = {*checked.proven, *(finding.case for finding in broken)}
    if part := [case for case in checked.cases if case not in known]:
        say(f"-k leaves out a variant of {', '.join(part)}: that does not prove the whole case")
    if any(finding.proven is False for finding in broken):
        raise typer.Exit(Exit.NO)
    if broken:
        raise typer.Exit(Exit.INFRASTRUCTURE)
