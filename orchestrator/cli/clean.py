"""`emufarm clean`: removes what killed runs and builds left on the Docker engine."""

from __future__ import annotations

import typer

from ..fleet.docker.engine import connect
from ..fleet.docker.reaper import reap
from ..folders import cache_folder
from ..image.cleanup import remove_all_leftovers
from .exit_codes import Exit


def clean() -> None:
    """Remove what killed runs and builds left on the Docker engine.

    A run is dead when nobody holds its lock file; living ones are not touched. Evidence that was
    sealed and not yet sent is first brought to its run's folder, for `emufarm resume`. Exit 20 if
    something could not be removed.

    Example: emufarm clean
    """
    engine = connect()
    try:
        found = reap(engine, typer.echo)
        remove_all_leftovers(engine, cache_folder())
    finally:
        engine.close()
    typer.echo(
        f"{len(found.removed)} dead runs removed, {len(found.alive)} at work, "
        f"{len(found.left)} left alone"
    )
    if found.left:
        raise typer.Exit(Exit.INFRASTRUCTURE)
