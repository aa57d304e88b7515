"""Runs a recorded plan again and compares the results episode by episode."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from ..errors import UsageError
from ..pins.agent_card import load_card
from ..plan.plan import Plan
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan
from ..report.endings import EndingComparison, comparable, endings
from ..report.endings import compare as compare_endings
from .backends import CLUSTER, check_backend_name, choose_backend
from .cluster.commands import run_on_cluster
from .cluster.options import DEFAULTS, ClusterOptions
from .cluster.start import NewRun
from .job import Job
from .recorded import given_again, planned_profile, recorded, require_unchanged_cases
from .run_events import OnEvent, ignore, notifier
from .runner import device_count, start
from .runs import RUNS, Run, find_run


@dataclass(frozen=True)
class Reproduction:
    first: Path
    second: Path
    compared: EndingComparison


def reproduce(
    run: str | Path,
    *,
    episodes: int | None = None,
    seed: int = 0,
    devices: int = 0,
    noise: int | None = None,
    backend: str = "auto",
    agent: str = "",
    agent_card: str | Path | None = None,
    against: str | Path | None = None,
    runs: str | Path = RUNS,
    cluster: ClusterOptions = DEFAULTS,
    on_event: OnEvent = ignore,
) -> Reproduction:
    """Run a run's plan again in a folder beside it, and compare outcome, violations and digests.

    `episodes` draws so many of its episodes by `seed`; `against` names a run to compare with, and
    then nothing is run. `agent` is given again where the run has masked words of it. UsageError
    where the run cannot be run again.
    """
    check_backend_name(backend)
    first = Run.open(run, runs)
    plan = draw(first.plan, episodes, seed)
    if against is not None:
        second = find_run(against, runs)
    else:
        second = _again(first.folder, plan, backend, device_count(devices), noise, agent,
                        agent_card, cluster, on_event)  # fmt: skip
    other = read_plan(second / PLAN)
    comparable(plan, other)
    if first.folder.resolve() == second.resolve():
        raise UsageError(f"{first.folder} and {second} are one run; name two")
    compared = compare_endings(endings(first.folder, plan), endings(second, other))
    return Reproduction(first.folder, second, compared)


def draw(plan: Plan, episodes: int | None, seed: int) -> Plan:
    """So many of the plan's episodes, the same ones for the same seed; None: all."""
    if episodes is None:
        return plan
    if episodes > len(plan.episodes):
        raise UsageError(f"the plan has {len(plan.episodes)} episodes: ask for at most as many")
    picks = sorted(random.Random(seed).sample(range(len(plan.episodes)), episodes))
    kept = tuple(plan.episodes[pick] for pick in picks)
    used = {episode.case for episode in kept}
    return replace(plan, episodes=kept, cases=tuple(c for c in plan.cases if c.id in used))


def _again(
    folder: Path,
    plan: Plan,
    backend: str,
    devices: int,
    noise: int | None,
    agent: str,
    agent_card: str | Path | None,
    cluster: ClusterOptions,
    on_event: OnEvent,
) -> Path:
    """The new run's folder, once it has ended."""
    before = recorded(folder, plan)
    notify = notifier(on_event)
    unmasked, same = given_again(folder, Run.open(folder).plan, before, agent)
    if not same:
        notify(f"--agent has other masked words than {folder}: a difference may come from them")
    require_unchanged_cases(folder, plan, before.cases_folder)
    profile = planned_profile(folder, plan)
    card = load_card(Path(agent_card)) if agent_card else None
    settings = replace(before.settings, noise=noise)
    if backend == CLUSTER:
        return run_on_cluster(
            NewRun(free_name(folder), plan, settings, profile, devices, before.cases_folder,
                   cluster, card),
            on_event,
        ).folder  # fmt: skip
    place = choose_backend(backend, profile, plan.agent, notify)
    if place.lock.digest != before.image:
        notify(
            f"the image is {place.lock.digest[:12]}, {folder} was run on {before.image[:12]}: "
            "a difference may come from it"
        )
    job = Job(free_name(folder), plan, settings, profile, place, devices, unmasked)
    return start(job, before.cases_folder, on_event, card).folder


def free_name(folder: Path) -> Path:
    """The first name of the form <run>-again-<n> that no run has."""
    whole = folder.resolve()
    names = (whole.with_name(f"{whole.name}-again-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
