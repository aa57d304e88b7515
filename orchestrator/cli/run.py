"""`emufarm run`, `emufarm resume`: from flags to a plan, a run folder, a report, an exit code."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..agent.choose import check_spec
from ..cases.load import load_cases
from ..coordinator import chain
from ..coordinator.transitions import DeviceStarted
from ..device.adb import adb_version
from ..errors import UsageError
from ..fleet.golden import GoldenImage
from ..pins.code import repo_facts
from ..pins.files import read_json, write_json
from ..pins.host import host_facts
from ..pins.manifest import android_facts, env_capabilities, run_manifest
from ..pins.profile import Profile, load_profile
from ..plan.plan import Plan
from ..plan.store import read_plan, write_plan
from ..report import build as report
from ..report.table import show, wide
from ..settings import Limits, RunSettings
from .execute import Job, execute
from .image import embedded_image, system_image_sha256
from .planning import planned
from .progress import Progress

INCOMPLETE, BELOW = 20, 1
MANIFEST, CAPABILITIES, PLAN = "run_manifest.json", "env_capabilities.json", "plan.json"
BACKENDS = ("auto", "local")

Folder = Annotated[Path, typer.Argument(help="Folder of cases.")]
Devices = Annotated[int, typer.Option(help="Phones at once; 0: twice the cores, at most 8.")]
Noise = Annotated[int | None, typer.Option(help="Restless phones, by this seed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON, and only that.")]
MinSuccess = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Exit 1 if the benign success rate is below (0..1)."),
]


def run(
    folder: Folder = Path("cases/public"),
    backend: Annotated[str, typer.Option(help="auto or local.")] = "auto",
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Episodes of each case variant.")] = 1,
    agent: Annotated[str, typer.Option(help="reference, idle, random, command:PROGRAM ...")] = (
        "reference"
    ),
    k: Annotated[str, typer.Option("-k", help="Only these, as pytest's -k: ids, tags.")] = "",
    name: Annotated[str, typer.Option("--run", help="The run's name [default: the time].")] = "",
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
    noise: Noise = None,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Run every episode of a folder of cases, and report.

    Exit 0: the run is complete, whatever the agents scored; 20: infrastructure kept it from
    completing (`emufarm resume` goes on); 2: the request cannot work; 130: interrupted.

    Example: emufarm run cases/public --agent reference --devices 4 --seed 7
    """
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    check_spec(agent)
    if name and (Path(name).name != name or name.startswith(".")):
        raise UsageError(f"{name!r} is no name for a run: give it without folders, and use --runs")
    phones = count(devices)
    settings = RunSettings(seed=seed, repeats=repeats, agent=agent)
    profile = load_profile(settings.profile)
    plan = planned(folder, settings, profile, k)
    place = runs / (name or f"{time.strftime('%Y%m%d-%H%M%S')}-{plan.digest[:6]}")
    if (place / PLAN).exists():
        raise UsageError(f"{place} exists already: `emufarm resume {place}`, or choose --run")
    with Progress(Console(stderr=as_json), quiet=as_json) as progress:
        image = embedded_image(profile, progress.say)
        prepare(place, plan, settings, profile, image, folder)
        job = Job(place, plan, settings, profile, image, phones, noise)
        complete = carry_out(job, progress)
    conclude(place, complete, min_success, as_json)


def resume(
    place: Annotated[Path, typer.Argument(help="The run's folder.", metavar="RUN")],
    devices: Devices = 0,
    noise: Noise = None,
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted: what is decided stays decided.

    Example: emufarm resume runs/20310512-091500-ab12cd
    """
    phones = count(devices)
    plan = read_plan(place / PLAN)
    settings = settings_of(place, plan)
    profile = load_profile(plan.profile)
    if profile.digest != plan.profile_digest:
        raise UsageError(f"the profile {profile.name} changed since {place} was planned")
    with Progress(Console(stderr=as_json), quiet=as_json) as progress:
        image = embedded_image(profile, progress.say)
        lock = image_of(place)
        if image.lock.digest != lock:
            raise UsageError(
                f"{place} was run on the image {lock[:12]}, this machine has "
                f"{image.lock.digest[:12]}: resume it with the version that started it"
            )
        job = Job(place, plan, settings, profile, image, phones, noise)
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
    image: GoldenImage,
    folder: Path,
) -> None:
    """The run's folder, with all that is known before it begins; its plan last."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file, content in documents(plan, settings, profile, image, folder).items():
            write_json(place / file, content)
        write_plan(place / PLAN, plan)
    except OSError as error:
        raise UsageError(f"cannot write the run to {place}: {error.strerror}") from error


def carry_out(job: Job, progress: Progress) -> bool:
    """Whether every episode is decided."""
    progress.say(
        f"run {job.run}: {len(job.plan.episodes)} episodes of {len(job.plan.cases)} cases, agent "
        f"{job.plan.agent}, {job.devices} phones, plan {job.plan.digest[:12]}"
    )
    return asyncio.run(execute(job, progress))


def conclude(place: Path, complete: bool, min_success: float | None, as_json: bool) -> None:
    """The report, and the exit code; once the progress has left the terminal."""
    record_devices(place)
    result = report.write(place)
    if as_json:
        sys.stdout.write(json.dumps(result, indent=2, sort_keys=True) + "\n")
    else:
        show(result, wide(Console()))
        typer.echo(f"report     {place / report.NAME}")
    if not complete:
        typer.echo(f"incomplete because of infrastructure: emufarm resume {place}", err=True)
        raise typer.Exit(INCOMPLETE)
    if lost := result["infrastructure"]["episodes_failed"]:
        told = f"{lost} episodes used up their attempts and were lost to infrastructure"
        typer.echo(f"{told}: a resume cannot decide them again, a new run can", err=True)
        raise typer.Exit(INCOMPLETE)
    value = result["figures"]["BSR"]["lower"]
    if min_success is not None and (value is None or value < min_success):
        typer.echo(f"the benign success rate is below {min_success}", err=True)
        raise typer.Exit(BELOW)


def documents(
    plan: Plan, settings: RunSettings, profile: Profile, image: GoldenImage, folder: Path
) -> dict[str, dict[str, Any]]:
    """run_manifest.json and env_capabilities.json, before a device has reported."""
    repo, now = repo_facts(), time.time_ns() // 1_000_000
    android = android_facts(
        profile,
        image.lock,
        adb_version=adb_version(),
        system_image_sha256=system_image_sha256(),
        devices={},
    )
    manifest = run_manifest(
        plan, settings, created_ts_ms=now, backend="local", agent_trusted=True, repo=repo,
        android=android,
    )  # fmt: skip
    manifest["reproducibility"]["cases_folder"] = str(folder.resolve())
    capabilities = env_capabilities(
        created_ts_ms=now, host=host_facts(), repo=repo, android=android
    )
    return {MANIFEST: manifest, CAPABILITIES: capabilities}


def record_devices(place: Path) -> None:
    """Each device's own answers, once they are in the journal."""
    lines = chain.read(place / chain.FOLDER).lines
    told = {line.event.device: line.event.facts for line in lines
            if isinstance(line.event, DeviceStarted)}  # fmt: skip
    for file in (MANIFEST, CAPABILITIES):
        content = read_json(place / file)
        content["android"]["devices"] = told
        write_json(place / file, content)


def image_of(place: Path) -> str:
    """The digest of the image that the run was started on."""
    try:
        return str(read_json(place / MANIFEST)["android"]["image_lock"]["digest"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place / MANIFEST} is not a run's manifest: {error!r}") from error


def settings_of(place: Path, plan: Plan) -> RunSettings:
    """What the run was started with; UsageError where its cases are no longer those."""
    try:
        facts = read_json(place / MANIFEST)["reproducibility"]
        limits = Limits(**facts["limits"])
        folder = Path(facts["cases_folder"])
        variants = tuple(facts["variants"])
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
    return RunSettings(plan.seed, plan.repeats, plan.agent, plan.profile, variants, limits)
