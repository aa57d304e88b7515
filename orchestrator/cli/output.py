"""What commands print: tables as aligned text, JSON, and lines of progress.

What comes from a run's folder may be anybody's: it writes no control characters to a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import typer

from ..errors import printable


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """For a terminal and for a pipe alike."""
    cells = [list(head), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, sort_keys=True))


def notify(line: str) -> None:
    """Print a line of progress to stderr, since stdout is for the result."""
    print(printable_lines(line), file=sys.stderr, flush=True)


def say(text: object, err: bool = False) -> None:
    """Print a line of a command's result."""
    typer.echo(printable_lines(str(text)), err=err)


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
