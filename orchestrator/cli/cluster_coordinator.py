"""`emufarm cluster-coordinator`: the coordinator of a run on a cluster, started in its Pod."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..errors import EmufarmError, RunInterrupted, UsageError
from ..farm.cluster.coordinate import LINGER_S, PodArguments, coordinate
from ..farm.run_events import Journaled, Notice, RunEvent
from .arguments import MetricsLinger
from .exit_codes import Exit


def cluster_coordinator(
    run: Annotated[str, typer.Argument(help="The name of its FarmRun.", metavar="RUN")],
    url: Annotated[str, typer.Option(help="Where workers reach it.")],
    folder: Annotated[Path, typer.Option(help="Where the run's folder is.")],
    secrets: Annotated[Path, typer.Option(help="A folder with the run's secrets.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen.")],
    pending_timeout: Annotated[float, typer.Option(help="Seconds for a Pod to start.")],
    linger: Annotated[float, typer.Option(help="Seconds to wait for a pull.")] = LINGER_S,
    serve_only: Annotated[bool, typer.Option("--serve-only", help="Of an ended run.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Of a run that failed.")] = False,
    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where to serve /metrics.")
    ] = None,
    metrics_linger: MetricsLinger = PodArguments.metrics_linger_s,
) -> None:
    """Coordinate a run on a cluster, inside its Pod; `emufarm run` makes that Pod.

    Every line that it prints is a JSON object. Being asked to stop, it leaves its devices at work.

    Example: emufarm cluster-coordinator nightly-7 --url http://10.96.0.7:8080 --folder /farm
    --secrets /run/secrets/emufarm --port 8080 --pending-timeout 600
    """
    arguments = PodArguments(
        run,
        url,
        folder,
        secrets,
        port,
        pending_timeout,
        linger,
        serve_only,
        resume,
        metrics_port,
        metrics_linger,
    )
    try:
        coordinate(arguments, print_event)
    except (EmufarmError, OSError) as error:
        print_event(Notice(str(error)))
        raise typer.Exit(_code(error)) from error


def _code(error: Exception) -> Exit:
    if isinstance(error, RunInterrupted):
        return Exit.INTERRUPTED
    return Exit.USAGE if isinstance(error, UsageError) else Exit.INFRASTRUCTURE


def print_event(event: RunEvent) -> None:
    """One line of JSON, for whoever collects logs."""
    match event:
        case Notice():
            line = {"event": "notice", "text": event.text}
        case Journaled():
            line = event.event.model_dump(mode="json")
        case _:
            return
    print(json.dumps({"time": round(time.time(), 3), **line}), flush=True, file=sys.stdout)
