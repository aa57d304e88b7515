"""`emufarm clean`: removes what killed runs and builds left on the Docker engine."""

from __future__ import annotations

import typer

from ..farm.cleaning import clean_engine
from .exit_codes import Exit


def clean() -> None:
    """Remove what killed runs and builds left on the Docker engine.

    A run is dead when nobody holds its lock file; living ones are not touched. Evidence that was
    sealed and not yet sent is first brought to its run's folder, for `emufarm resume`. Exit 20 if
    something could not be removed.

    Example: emufarm clean
    """
    found = clean_engine(typer.echo)
    typer.echo(
        f"{len(found.removed)} dead runs removed, {len(found.alive)} at work, "
        f"{len(found.left)} left alone"
    )
    if found.left:
        raise typer.Exit(Exit.INFRASTRUCTURE)
