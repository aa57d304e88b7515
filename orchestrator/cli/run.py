"""`emufarm run`, `emufarm resume`: from flags to a plan, a run folder, a report, an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..agent.spec import check_spec
from ..cases.load import load_cases
from ..errors import UsageError
from ..farm.backends import BACKENDS, Backend, chosen
from ..farm.documents import documents
from ..farm.execute import execute
from ..farm.job import Job
from ..farm.planning import planned
from ..pins import proofs
from ..pins.agent_card import AgentCard, load_card
from ..pins.files import read_json, write_json
from ..pins.profile import Profile, load_profile
from ..pins.run_manifest import MANIFEST
from ..plan.plan import Plan
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan, write_plan
from ..report import build as report
from ..report.table import show, wide
from ..settings import Limits, RunSettings
from .progress import ProgressDisplay

INCOMPLETE, BELOW = 20, 1

Folder = Annotated[Path, typer.Argument(help="Folder of cases.")]
Devices = Annotated[int, typer.Option(help="Phones at once; 0: twice the cores, at most 8.")]
Noise = Annotated[int | None, typer.Option(help="Restless phones, by this seed.")]
AgentCardFile = Annotated[
    Path | None, typer.Option(help="What the agent is: a YAML file (docs/pins.md).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON, and only that.")]
MinSuccess = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Exit 1 if the benign success rate is below (0..1)."),
]


def run(
    folder: Folder = Path("cases/public"),
    backend: Annotated[str, typer.Option(help="auto, local or docker.")] = "auto",
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Episodes of each case variant.")] = 1,
    agent: Annotated[
        str, typer.Option(help="reference, random, command:PROGRAM, http://..., image:NAME ...")
    ] = ("reference"),
    agent_card: AgentCardFile = None,
    k: Annotated[str, typer.Option("-k", help="Only these, as pytest's -k: ids, tags.")] = "",
    name: Annotated[str, typer.Option("--run", help="The run's name [default: the time].")] = "",
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
    profile: Annotated[str, typer.Option(help="Of which image.")] = RunSettings.profile,
    noise: Noise = None,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Run every episode of a folder of cases, and report.

    Exit 0: the run is complete, whatever the agents scored; 1: with --min-success, they scored
    less; 20: infrastructure kept it from completing (`emufarm resume` goes on) or took an episode;
    2: the request cannot work; 130: interrupted.

    Example: emufarm run cases/public --agent reference --devices 4 --seed 7
    """
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    check_spec(agent)
    card = load_card(agent_card) if agent_card else None
    if name and (Path(name).name != name or name.startswith(".")):
        raise UsageError(f"{name!r} is no name for a run: give it without folders, and use --runs")
    phones = count(devices)
    settings = RunSettings(seed, repeats, agent, profile, noise=noise)
    phone = load_profile(profile)
    plan = planned(folder, settings, phone, k)
    place = runs / (name or f"{time.strftime('%Y%m%d-%H%M%S')}-{plan.digest[:6]}")
    if (place / PLAN).exists():
        raise UsageError(f"{place} exists already: `emufarm resume {place}`, or choose --run")
    with ProgressDisplay(Console(stderr=as_json), quiet=as_json) as progress:
        its = chosen(backend, phone, agent, progress.notify)
        prepare(place, plan, settings, phone, its, folder, card)
        job = Job(place, plan, settings, phone, its, phones)
        complete = carry_out(job, progress)
    conclude(place, complete, min_success, as_json)


def resume(
    place: Annotated[Path, typer.Argument(help="The run's folder.", metavar="RUN")],
    devices: Devices = 0,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted.

    What is decided stays decided; the rest is run as the run was started. Exit codes are those of
    `emufarm run`.

    Example: emufarm resume runs/20310512-091500-ab12cd
    """
    phones = count(devices)
    plan = read_plan(place / PLAN)
    settings = settings_of(place, plan)
    profile = load_profile(plan.profile)
    if profile.digest != plan.profile_digest:
        raise UsageError(f"the profile {profile.name} changed since {place} was planned")
    with ProgressDisplay(Console(stderr=as_json), quiet=as_json) as progress:
        backend = chosen(backend_of(place), profile, plan.agent, progress.notify)
        lock = image_of(place)
        if backend.lock.digest != lock:
            raise UsageError(
                f"{place} was run on the image {lock[:12]}, this machine has "
                f"{backend.lock.digest[:12]}: resume it with the version that started it"
            )
        if backend.agent is not None and backend.agent.id != agent_of(place):
            raise UsageError(
                f"{plan.agent} is another image than when {place} began: give that one its name "
                f"back ({agent_of(place)})"
            )
        job = Job(place, plan, settings, profile, backend, phones)
        complete = carry_out(job, progress)
    conclude(place, complete, min_success, as_json)


def count(devices: int) -> int:
    if devices < 0:
        raise UsageError(f"{devices} devices cannot run anything: choose 1 or more")
    return devices or min(8, 2 * (os.cpu_count() or 1))


def prepare(
    place: Path,
    plan: Plan,
    settings: RunSettings,
    profile: Profile,
    backend: Backend,
    folder: Path,
    card: AgentCard | None = None,
) -> None:
    """The run's folder, with all that is known before it begins; its plan last."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        files = documents(plan, settings, profile, backend, folder, card)
        known = proofs.proven(place.parent / proofs.NAME, backend.lock.digest, plan.cases)
        files[MANIFEST]["reproducibility"]["proven"] = known
        for file, content in files.items():
            write_json(place / file, content)
        write_plan(place / PLAN, plan)
    except OSError as error:
        raise UsageError(f"cannot write the run to {place}: {error.strerror}") from error


def carry_out(job: Job, progress: ProgressDisplay) -> bool:
    """Whether every episode is decided."""
    progress.notify(
        f"run {job.run}: {len(job.plan.episodes)} episodes of {len(job.plan.cases)} cases, agent "
        f"{job.plan.agent}, {job.devices} phones, {job.backend.name}, plan {job.plan.digest[:12]}"
    )
    return asyncio.run(execute(job, progress))


def conclude(place: Path, complete: bool, min_success: float | None, as_json: bool) -> None:
    """The report, and the exit code; once the progress has left the terminal."""
    result = report.write(place)
    if as_json:
        sys.stdout.buffer.writelines(report.spelled(result))
    else:
        show(result, wide(Console()))
        typer.echo(f"report     {place / report.NAME}")
    if not complete:
        typer.echo(f"incomplete because of infrastructure: emufarm resume {place}", err=True)
        raise typer.Exit(INCOMPLETE)
    if lost := result.infrastructure.episodes_failed:
        told = f"{lost} episodes used up their attempts and were lost to infrastructure"
        typer.echo(f"{told}: a resume cannot decide them again, a new run can", err=True)
        raise typer.Exit(INCOMPLETE)
    value = result.figures.shares["BSR"].unknown_as_no.value
    if min_success is not None and (value is None or value < min_success):
        typer.echo(f"the benign success rate is below {min_success}", err=True)
        raise typer.Exit(BELOW)


def image_of(place: Path) -> str:
    """The digest of the image that the run was started on."""
    return recorded(place, lambda manifest: manifest["android"]["image_lock"]["digest"])


def agent_of(place: Path) -> str:
    """The id of the image that the run's agent came in."""
    return recorded(place, lambda manifest: manifest["agent"]["image_id"])


def backend_of(place: Path) -> str:
    """The backend that the run was started on."""
    return recorded(place, lambda manifest: manifest["execution_mode"])


def recorded(place: Path, fact: Callable[[Any], str]) -> str:
    try:
        return str(fact(read_json(place / MANIFEST)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place / MANIFEST} is not a run's manifest: {error!r}") from error


def settings_of(place: Path, plan: Plan) -> RunSettings:
    """What the run was started with; UsageError where its cases are no longer those."""
    try:
        facts = read_json(place / MANIFEST)["reproducibility"]
        limits = Limits(**facts["limits"])
        folder = Path(facts["cases_folder"])
        variants, noise = tuple(facts["variants"]), facts.get("noise")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place / MANIFEST} is not a run's manifest: {error!r}") from error
    if folder.is_dir():
        now = {loaded.case.id: loaded.digest for loaded in load_cases(folder)}
        changed = [case.id for case in plan.cases if now.get(case.id, case.digest) != case.digest]
        if changed:
            raise UsageError(
                f"{', '.join(changed)} changed since {place} was planned: "
                "restore the cases, or start a new run"
            )
    return RunSettings(plan.seed, plan.repeats, plan.agent, plan.profile, variants, limits, noise)
