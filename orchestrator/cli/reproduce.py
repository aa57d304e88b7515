"""`emufarm reproduce`: the same plan once more, and whether it comes to the same."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..agent.spec import check_spec
from ..errors import UsageError
from ..farm.backends import BACKENDS, chosen
from ..farm.job import Job
from ..pins.agent_card import AgentCard, load_card
from ..pins.files import read_json
from ..pins.profile import load_profile
from ..pins.run_manifest import MANIFEST
from ..plan.plan import Plan
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan
from ..report import build as report
from ..report.same import Compared, comparable, compare, endings
from ..settings import RunSettings
from . import run as running
from .progress import ProgressDisplay
from .run import AgentCardFile, Devices, Noise
from .table import table

DIFFERENT, UNTOLD = 1, 20


def reproduce(
    place: Annotated[Path, typer.Argument(help="The run's folder.", metavar="RUN")],
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Only so many of its episodes, drawn by --seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which episodes are drawn.")] = 0,
    devices: Devices = 0,
    noise: Noise = None,
    backend: Annotated[str, typer.Option(help="auto, local or docker.")] = "auto",
    agent_card: AgentCardFile = None,
    against: Annotated[
        Path | None, typer.Option(help="Compare with this run; nothing is run.", metavar="RUN")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Run a run's plan again, and compare episode by episode.

    The new run stands beside it. Compared are outcome, violations, and the digest of every
    oracle's facts. Exit 0 if all are equal, 1 if one differs, 20 if infrastructure kept an episode
    of either run from an ending, 2 where the run cannot be run again.

    Example: emufarm reproduce runs/20310512-091500-ab12cd --episodes 5 --noise 3
    """
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    plan = drawn(read_plan(place / PLAN), episodes, seed)
    if against is None:
        settings = replace(running.settings_of(place, plan), noise=noise)
        card = load_card(agent_card) if agent_card else None
        other = again(place, plan, settings, backend, running.count(devices), card, as_json)
    else:
        other = against
    theirs = read_plan(other / PLAN)
    comparable(plan, theirs)
    if place.resolve() == other.resolve():
        raise UsageError(f"{place} and {other} are one run; name two")
    compared = compare(endings(place, plan), endings(other, theirs))
    if as_json:
        told = {"one": str(place), "other": str(other), "same": compared.same, **asdict(compared)}
        sys.stdout.write(json.dumps(told, indent=2, sort_keys=True) + "\n")
    else:
        show(place, other, compared, typer.echo)
    if not compared.same:
        raise typer.Exit(UNTOLD if compared.same is None else DIFFERENT)


def drawn(plan: Plan, episodes: int | None, seed: int) -> Plan:
    """So many of the plan's episodes, the same ones for the same seed; None: all."""
    if episodes is None:
        return plan
    if episodes > len(plan.episodes):
        raise UsageError(f"the plan has {len(plan.episodes)} episodes: ask for at most as many")
    picks = sorted(random.Random(seed).sample(range(len(plan.episodes)), episodes))
    kept = tuple(plan.episodes[pick] for pick in picks)
    used = {episode.case for episode in kept}
    return replace(plan, episodes=kept, cases=tuple(c for c in plan.cases if c.id in used))


def again(
    place: Path,
    plan: Plan,
    settings: RunSettings,
    word: str,
    phones: int,
    card: AgentCard | None,
    quiet: bool,
) -> Path:
    """The new run's folder, once it has ended. UsageError where it would not be the same."""
    check_spec(plan.agent)
    profile = load_profile(plan.profile)
    if profile.digest != plan.profile_digest:
        raise UsageError(f"the profile {profile.name} changed since {place} was planned")
    folder = Path(read_json(place / MANIFEST)["reproducibility"]["cases_folder"])
    fresh = free_name(place)
    with ProgressDisplay(Console(stderr=quiet), quiet=quiet) as progress:
        backend = chosen(word, profile, plan.agent, progress.notify)
        before = running.image_of(place)
        if backend.lock.digest != before:
            progress.notify(
                f"the image is {backend.lock.digest[:12]}, {place} was run on {before[:12]}: "
                "a difference may come from it"
            )
        running.prepare(fresh, plan, settings, profile, backend, folder, card)
        running.carry_out(Job(fresh, plan, settings, profile, backend, phones), progress)
    report.save(fresh)
    return fresh


def free_name(place: Path) -> Path:
    whole = place.resolve()
    names = (whole.with_name(f"{whole.name}-again-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def show(one: Path, other: Path, compared: Compared, say: Callable[[str], object]) -> None:
    if compared.differences:
        rows = [(d.episode, d.what, _brief(d.one), _brief(d.other)) for d in compared.differences]
        say(table(("episode", "what", one.name, other.name), rows))
    if compared.missing:
        say(f"{other} has {len(compared.missing)} episodes less; nothing is said of those")
    for episode in compared.untold:
        say(f"{episode}: infrastructure kept it from an ending")
    different = len({difference.episode for difference in compared.differences})
    equal = compared.episodes - different - len(compared.untold)
    say(
        f"{compared.episodes} episodes of {one} and {other}: {equal} equal, {different} different, "
        f"{len(compared.untold)} could not be told"
    )


def _brief(text: str) -> str:
    """Of a digest its beginning; names and outcomes are whole."""
    return text[:16] if len(text) == 64 else text
