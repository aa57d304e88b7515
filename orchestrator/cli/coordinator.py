"""`emufarm coordinator`: serves a planned run to workers that somebody else starts."""

from __future__ import annotations

from typing import Annotated

import typer

from ..farm.runs import RUNS
from ..farm.serve import serve
from .arguments import AgentAgain, RunName, Runs, WithoutEvidence
from .exit_codes import Exit
from .progress import ProgressDisplay


def coordinator(
    run: RunName,
    runs: Runs = RUNS,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 0,
    device: Annotated[
        list[str], typer.Option(help="Whose worker may come, as slot-00.1; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    agent: AgentAgain = "",
    without_evidence: WithoutEvidence = False,
) -> None:
    """Serve a planned run to workers until all is decided.

    Secrets are files in the run's folder: secrets/admin, and secrets/slot-00.1 for the worker of
    that device.

    Example: emufarm coordinator runs/20310512-091500-ab12cd --port 8000 --device slot-00.1
    """
    with ProgressDisplay() as progress:
        finished = serve(
            run, host=host, port=port, devices=device, agent=agent, runs=runs,
            without_evidence=without_evidence, on_event=progress,
        )  # fmt: skip
    if not finished:
        raise typer.Exit(Exit.INFRASTRUCTURE)
