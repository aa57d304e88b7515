"""`emufarm schema`: prints or writes the JSON Schemas of the farm's documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..report import schemas
from .output import table


def schema(
    name: Annotated[
        str | None, typer.Argument(help="Which one [default: list them].", metavar="NAME")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--write", help="Write them all into this folder.")
    ] = None,
) -> None:
    """Print the JSON Schema of a document, or write all of them.

    Example: emufarm schema case > case.schema.json
    """
    if folder is not None:
        for path in schemas.write(folder):
            typer.echo(path)
    elif name is not None:
        sys.stdout.write(schemas.text(name))
    else:
        rows = [
            (name, schemas.file_name(name), each.file) for name, each in schemas.DOCUMENTS.items()
        ]
        typer.echo(table(("name", "schema", "of"), rows))
