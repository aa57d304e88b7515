"""`emufarm run` and `emufarm resume`: run cases, show progress and report, choose the exit code."""

from __future__ import annotations

from typing import Annotated

import typer

from ..agent.masking import is_masked
from ..farm.backends import CLUSTER
from ..farm.cluster.options import DEFAULTS, PENDING_S, STORAGE, ClusterOptions, run_command
from ..farm.exposed import MetricsPort
from ..farm.runner import PUBLIC_CASES
from ..farm.runner import resume as resume_run
from ..farm.runner import run as run_cases
from ..farm.runs import RUNS, Run
from ..settings import RunSettings
from .arguments import (
    AgentAgain,
    AgentCardFile,
    AsJson,
    BackendName,
    CasesFolder,
    Context,
    Devices,
    MetricsLinger,
    MetricsPortNumber,
    Namespace,
    Noise,
    RunName,
    Runs,
    Selection,
    WithoutEvidence,
)
from .exit_codes import Exit
from .output import say
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
    agent_port: Annotated[
        list[int], typer.Option(help="Of loopback that a confined command agent reaches.")
    ] = [],  # noqa: B006 - typer copies it
    min_success: MinSuccess = None,
    as_json: AsJson = False,
    metrics_port: MetricsPortNumber = None,
    metrics_linger: MetricsLinger = MetricsPort.linger_s,
    namespace: Namespace = "",
    context: Context = "",
    detach: Annotated[
        bool, typer.Option("--detach", help="On a cluster: return once the run has begun there.")
    ] = False,
    pending_timeout: Annotated[
        float, typer.Option(help="Seconds for a Pod to start while no device is at work.")
    ] = PENDING_S,
    storage: Annotated[str, typer.Option(help="The size of the run's volume.")] = STORAGE,
    storage_class: Annotated[
        str, typer.Option(help="Of that volume [default: the cluster's].")
    ] = "",
    shared_storage: Annotated[
        bool, typer.Option("--shared-storage", help="One that several nodes can mount.")
    ] = False,
    keep: Annotated[
        int | None,
        typer.Option(min=0, help="Seconds that it stays after a pull [default: as the FarmRun]."),
    ] = None,
    agent_egress: Annotated[
        list[str], typer.Option(help="HOST:PORT that the agent may reach; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    agent_secret: Annotated[
        str, typer.Option(help="A Secret with variables for an agent in an image, such as keys.")
    ] = "",
) -> None:
    """Run every episode of a folder of cases, and report.

    The options from --namespace on are for --backend kubernetes (docs/kubernetes.md).

    Exit 0: the run is complete, whatever the agents scored; 1: with --min-success, they scored
    less; 20: infrastructure prevented its end (`emufarm resume` continues) or cost an episode, or
    somebody cancelled the run; 2: the request cannot work; 130: interrupted.

    Example: emufarm run cases/public --agent reference --devices 4 --seed 7
    """
    cluster = ClusterOptions(
        namespace, context, detach, pending_timeout, storage, storage_class, keep,
        tuple(agent_egress), agent_secret, shared_storage,
    )  # fmt: skip
    metrics = None if metrics_port is None else MetricsPort(metrics_port, metrics_linger)
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
            agent_ports=agent_port,
            name=name,
            runs=runs,
            cluster=cluster,
            metrics=metrics,
            on_event=progress,
        )
    if detach and backend == CLUSTER:
        again = run_command("runs watch", done.name, runs, cluster.flags)
        say(f"{again}    follows it; kubectl get fr shows it")
        return
    conclude(done, min_success, as_json, cluster)


def resume(
    run: RunName,
    runs: Runs = RUNS,
    agent: AgentAgain = "",
    devices: Devices = 0,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
    metrics_port: MetricsPortNumber = None,
    metrics_linger: MetricsLinger = MetricsPort.linger_s,
    without_evidence: WithoutEvidence = False,
    namespace: Namespace = "",
    context: Context = "",
) -> None:
    """Go on with a run that was interrupted.

    What is decided stays decided; the rest is run as the run was started. A run on a cluster is
    followed again, with another coordinator where its own gave up. Where a bundle that was
    committed is gone or damaged, nothing is done and it is named (exit 2). Exit codes are those of
    `emufarm run`.

    Example: emufarm resume runs/20310512-091500-ab12cd
    """
    cluster = ClusterOptions(namespace, context)
    metrics = None if metrics_port is None else MetricsPort(metrics_port, metrics_linger)
    with ProgressDisplay(quiet=as_json) as progress:
        done = resume_run(
            run, agent=agent, devices=devices, runs=runs, cluster=cluster, metrics=metrics,
            without_evidence=without_evidence, on_event=progress,
        )  # fmt: skip
    conclude(done, min_success, as_json, cluster)


def conclude(
    done: Run, min_success: float | None, as_json: bool, cluster: ClusterOptions = DEFAULTS
) -> None:
    """Show the report and exit, once the progress has left the terminal."""
    report = done.report()
    show_report(report, done.folder, as_json=as_json)
    if not report.complete and done.cancelled:
        say(
            f"{done.name} was cancelled before every episode was decided, and stays so: a new run "
            "decides the rest",
            err=True,
        )
        raise typer.Exit(Exit.INFRASTRUCTURE)
    if not report.complete:
        masked = " --agent ..." if is_masked(done.plan.agent) else ""
        again = f"emufarm resume {done.folder}{masked}{cluster.flags}"
        say(f"incomplete because of infrastructure: {again}", err=True)
        raise typer.Exit(Exit.INFRASTRUCTURE)
    if lost := report.infrastructure.episodes_failed:
        say(
            f"{lost} episodes used up their attempts and were lost to infrastructure: a resume "
            "cannot decide them again, a new run can",
            err=True,
        )
        raise typer.Exit(Exit.INFRASTRUCTURE)
    value = report.figures.shares["BSR"].unknown_as_no.value
    if min_success is not None and (value is None or value < min_success):
        say(f"the benign success rate is below {min_success}", err=True)
        raise typer.Exit(Exit.NO)
