"""`emufarm cases list` and `emufarm cases new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..cases.load import LoadedCase, load_cases
from ..cases.new_case import write_new
from ..cases.select import Keep, selection
from ..errors import UsageError
from .arguments import Selection
from .table import table

app = typer.Typer(help="List, write and prove cases.", no_args_is_help=True)

HEAD = ("id", "tags", "variants", "channel", "steps", "seconds")


@app.callback()
def cases() -> None:
    """List, write and prove cases."""


@app.command("list")
def list_(
    folder: Annotated[Path, typer.Argument(help="Where the cases are.")] = Path("cases"),
    k: Selection = "",
) -> None:
    """List the cases below a folder, or say what is wrong with any.

    Example: emufarm cases list cases/public -k "files and not attack"
    """
    keep = selection(k)
    rows = [_row(loaded, keep) for loaded in load_cases(folder)]
    kept = [row for row in rows if row[2]]
    if not kept:
        raise UsageError(f"nothing below {folder} matches -k {k!r}; ask for less")
    typer.echo(table(HEAD, kept))
    typer.echo("1 case" if len(kept) == 1 else f"{len(kept)} cases")


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
    """Write a commented case that works, to be changed into another.

    Example: emufarm cases new file_tidy
    """
    path = write_new(folder, id)
    typer.echo(f"wrote {path}; change it, then `emufarm cases list {path.parent}` reads it")
