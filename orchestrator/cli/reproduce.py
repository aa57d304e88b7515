"""`emufarm reproduce`: runs a run's plan again and shows what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer

from ..farm.cluster.options import ClusterOptions
from ..farm.reproduction import Reproduction
from ..farm.reproduction import reproduce as reproduce_run
from ..farm.runs import RUNS
from .arguments import (
    AgentAgain,
    AgentCardFile,
    BackendName,
    Context,
    Devices,
    Namespace,
    Noise,
    RunName,
    Runs,
)
from .exit_codes import Exit
from .output import print_json, say, table
from .progress import ProgressDisplay


def reproduce(
    run: RunName,
    runs: Runs = RUNS,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Only so many of its episodes, drawn by --seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which episodes are drawn.")] = 0,
    devices: Devices = 0,
    noise: Noise = None,
    backend: BackendName = "auto",
    agent: AgentAgain = "",
    agent_card: AgentCardFile = None,
    against: Annotated[
        str | None, typer.Option(help="Compare with this run; nothing is run.", metavar="RUN")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    namespace: Namespace = "",
    context: Context = "",
) -> None:
    """Run a run's plan again, and compare episode by episode.

    The new run's folder is beside the old one. The command compares outcome, violations, and the
    digest of every oracle's facts. Exit 0 if all are equal, 1 if one differs, 20 if an episode of
    either run has no result because of infrastructure, 2 if the run cannot be run again.

    Example: emufarm reproduce runs/20310512-091500-ab12cd --episodes 5 --noise 3
    """
    with ProgressDisplay(quiet=as_json) as progress:
        done = reproduce_run(
            run,
            episodes=episodes,
            seed=seed,
            devices=devices,
            noise=noise,
            backend=backend,
            agent=agent,
            agent_card=agent_card,
            against=against,
            runs=runs,
            cluster=ClusterOptions(namespace, context),
            on_event=progress,
        )
    same = done.compared.same
    if as_json:
        facts = {"one": str(done.first), "other": str(done.second), "same": same}
        print_json({**facts, **asdict(done.compared)})
    else:
        show(done, say)
    if not same:
        raise typer.Exit(Exit.INFRASTRUCTURE if same is None else Exit.NO)


def show(done: Reproduction, echo: Callable[[str], object]) -> None:
    one, other, compared = done.first, done.second, done.compared
    if compared.differences:
        rows = [(d.episode, d.what, _brief(d.one), _brief(d.other)) for d in compared.differences]
        echo(table(("episode", "what", one.name, other.name), rows))
    if compared.missing:
        echo(f"{other} has {len(compared.missing)} episodes less, which are not compared")
    for episode in compared.unknown:
        echo(f"{episode}: no result because of infrastructure")
    different = len({difference.episode for difference in compared.differences})
    equal = compared.episodes - different - len(compared.unknown)
    echo(
        f"{compared.episodes} episodes of {one} and {other}: {equal} equal, {different} different, "
        f"{len(compared.unknown)} could not be compared"
    )


def _brief(text: str) -> str:
    """Shortens a digest; names and outcomes stay as they are."""
    return text[:16] if len(text) == 64 else text
