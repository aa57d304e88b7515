"""`emufarm run` and `emufarm resume`: run cases, show progress and report, choose the exit code."""

from __future__ import annotations

from typing import Annotated

import typer

from ..farm.runner import PUBLIC_CASES
from ..farm.runner import resume as resume_run
from ..farm.runner import run as run_cases
from ..farm.runs import RUNS, Run
from ..settings import RunSettings
from .arguments import (
    AgentCardFile,
    AsJson,
    BackendName,
    CasesFolder,
    Devices,
    Noise,
    RunName,
    Runs,
    Selection,
)
from .exit_codes import Exit
from .progress import ProgressDisplay
from .report import show_report

MinSuccess = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Exit 1 if the benign success rate is below (0..1)."),
]


def run(
    folder: CasesFolder = PUBLIC_CASES,
    backend: BackendName = "auto",
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Episodes of each case variant.")] = 1,
    agent: Annotated[
        str, typer.Option(help="reference, random, command:PROGRAM, http://..., image:NAME ...")
    ] = RunSettings.agent,
    agent_card: AgentCardFile = None,
    k: Selection = "",
    name: Annotated[str, typer.Option("--run", help="The run's name [default: the time].")] = "",
    runs: Runs = RUNS,
    profile: Annotated[str, typer.Option(help="Of which image.")] = RunSettings.profile,
    noise: Noise = None,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Run every episode of a folder of cases, and report.

    Exit 0: the run is complete, whatever the agents scored; 1: with --min-success, they scored
    less; 20: infrastructure prevented its end (`emufarm resume` continues) or cost an episode;
    2: the request cannot work; 130: interrupted.

    Example: emufarm run cases/public --agent reference --devices 4 --seed 7
    """
    with ProgressDisplay(quiet=as_json) as progress:
        done = run_cases(
            folder,
            agent=agent,
            agent_card=agent_card,
            devices=devices,
            backend=backend,
            seed=seed,
            repeats=repeats,
            k=k,
            profile=profile,
            noise=noise,
            name=name,
            runs=runs,
            on_event=progress,
        )
    _conclude(done, min_success, as_json)


def resume(
    run: RunName,
    runs: Runs = RUNS,
    devices: Devices = 0,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted.

    What is decided stays decided; the rest is run as the run was started. Exit codes are those of
    `emufarm run`.

    Example: emufarm resume runs/20310512-091500-ab12cd
    """
    with ProgressDisplay(quiet=as_json) as progress:
        done = resume_run(run, devices=devices, runs=runs, on_event=progress)
    _conclude(done, min_success, as_json)


def _conclude(done: Run, min_success: float | None, as_json: bool) -> None:
    """Show the report and exit, once the progress has left the terminal."""
    report = done.report()
    show_report(report, done.folder, as_json=as_json)
    if not report.complete:
        typer.echo(f"incomplete because of infrastructure: emufarm resume {done.folder}", err=True)
        raise typer.Exit(Exit.INFRASTRUCTURE)
    if lost := report.infrastructure.episodes_failed:
        typer.echo(
            f"{lost} episodes used up their attempts and were lost to infrastructure: a resume "
            "cannot decide them again, a new run can",
            err=True,
        )
        raise typer.Exit(Exit.INFRASTRUCTURE)
    value = report.figures.shares["BSR"].unknown_as_no.value
    if min_success is not None and (value is None or value < min_success):
        typer.echo(f"the benign success rate is below {min_success}", err=True)
        raise typer.Exit(Exit.NO)
