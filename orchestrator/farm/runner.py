"""Starts and resumes runs: the plan, the run's folder, the execution, the report."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..agent.masking import COMMAND, masked
from ..agent.spec import check_spec
from ..cases.load import load_cases
from ..coordinator.stored_evidence import OPTION
from ..errors import UsageError
from ..folders import find_cases, require_run_name
from ..pins.agent_card import AgentCard, load_card
from ..pins.profile import load_profile
from ..plan.plan import Plan, build
from ..plan.store import FILE as PLAN
from ..report import build as report
from ..settings import Limits, RunSettings
from .backends import CLUSTER, check_backend_name, choose_backend
from .cluster.commands import resume_on_cluster, run_on_cluster
from .cluster.options import DEFAULTS, ClusterOptions, require_no_cluster
from .cluster.start import NewRun
from .documents import write_documents
from .execute import execute
from .exposed import MetricsPort, exposing, run_metrics
from .interruption import blocking
from .job import Job
from .recorded import given_again, planned_profile, recorded, require_unchanged_cases
from .run_events import Notice, OnEvent, ignore, notifier
from .runs import RUNS, Run

PUBLIC_CASES = Path("cases/public")
MOST_DEFAULT_DEVICES = 8


def run(
    cases: str | Path = PUBLIC_CASES,
    *,
    agent: str = RunSettings.agent,
    agent_card: str | Path | None = None,
    devices: int = 0,
    backend: str = "auto",
    seed: int = RunSettings.seed,
    repeats: int = RunSettings.repeats,
    k: str = "",
    profile: str = RunSettings.profile,
    noise: int | None = None,
    agent_ports: Sequence[int] = (),
    limits: Limits = RunSettings.limits,
    name: str = "",
    runs: str | Path = RUNS,
    cluster: ClusterOptions = DEFAULTS,
    metrics: MetricsPort | None = None,
    on_event: OnEvent = ignore,
) -> Run:
    """Run every episode of a folder of cases, and write the report. Where the current folder has no
    such folder, the one of that name that comes with emufarm is taken.

    Returns when every episode is decided or the fleet can do no more: `Run.complete` says which.
    UsageError where the request cannot work; RunInterrupted after Ctrl-C or SIGTERM. `cluster` is
    for the backend `kubernetes`, where a run goes on without this process. `metrics`: where this
    process serves what it counts, for Prometheus. `agent_ports`: of this machine's loopback, which
    a confined `command:` agent may reach.
    """
    require_ports(agent_ports, agent)
    check_backend_name(backend)
    if backend != CLUSTER:
        require_no_cluster(cluster, backend)
    require_port(metrics, backend)
    card = load_card(Path(agent_card)) if agent_card else None
    if name:
        require_run_name(name)
    count = device_count(devices)
    check_spec(agent)
    shown = masked(agent)
    settings = RunSettings(
        seed,
        repeats,
        shown,
        profile,
        limits=limits,
        noise=noise,
        agent_ports=tuple(agent_ports),
    )
    found = find_cases(Path(cases))
    plan = make_plan(found, settings, k)
    folder = Path(runs) / (name or f"{time.strftime('%Y%m%d-%H%M%S')}-{plan.digest[:6]}")
    if (folder / PLAN).exists():
        raise UsageError(f"{folder} exists already: `emufarm resume {folder}`, or choose --run")
    on_event(Notice(f"cases: {found}"))
    if shown != agent:
        on_event(
            Notice(
                f"--agent has what looks like a secret: the run publishes it as {shown!r}, and "
                "`resume` and `reproduce` need the whole of it again. Who can list this machine's "
                "processes sees it: let the agent read it from a file (docs/agents.md)"
            )
        )
    phone = load_profile(profile)
    if backend == CLUSTER:
        return run_on_cluster(
            NewRun(folder, plan, settings, phone, count, found, cluster, card), on_event
        )
    place = choose_backend(backend, phone, agent, notifier(on_event))
    job = Job(folder, plan, settings, phone, place, count, agent if shown != agent else "")
    return _latest(start(job, found, on_event, card, metrics))


def resume(
    run: str | Path, *, agent: str = "", devices: int = 0, runs: str | Path = RUNS,
    cluster: ClusterOptions = DEFAULTS, metrics: MetricsPort | None = None,
    without_evidence: bool = False, on_event: OnEvent = ignore,
) -> Run:  # fmt: skip
    """Go on with a run that was interrupted; what is decided stays decided. `agent` is given again
    where the run has masked words of it.

    UsageError where its cases, its profile or its image are no longer those it was started with, or
    where bundles that were committed are gone or damaged. `without_evidence` goes on without them;
    the report names them.
    """
    count = device_count(devices)
    opened = Run.open(run, runs)
    folder, plan = opened.folder, opened.plan
    before = recorded(folder, plan)
    unmasked, same = given_again(folder, plan, before, agent)
    if not same:
        raise UsageError(
            f"--agent has other masked words than when {folder} began: give the same ones, or "
            "start a new run"
        )
    require_port(metrics, before.backend)
    if before.backend == CLUSTER:
        if without_evidence:
            raise UsageError(
                f"{OPTION} is for runs of this machine: on a cluster, put the bundles back on the "
                f"run's volume, or bring what is left with `emufarm runs watch {opened.name} --now`"
            )
        return resume_on_cluster(
            opened.name, devices=devices, options=cluster, runs=folder.resolve().parent,
            on_event=on_event,
        )  # fmt: skip
    require_no_cluster(cluster, before.backend)
    require_unchanged_cases(folder, plan, before.cases_folder)
    profile = planned_profile(folder, plan)
    backend = choose_backend(before.backend, profile, plan.agent, notifier(on_event))
    if backend.lock.digest != before.image:
        raise UsageError(
            f"{folder} was run on the image {before.image[:12]}, this machine has "
            f"{backend.lock.digest[:12]}: resume it with the version that started it"
        )
    if backend.agent is not None and backend.agent.id != before.agent_image:
        raise UsageError(
            f"{plan.agent} is another image than when {folder} began: give that one its name "
            f"back ({before.agent_image})"
        )
    job = Job(folder, plan, before.settings, profile, backend, count, unmasked)
    return _latest(carry_out(job, on_event, metrics, without_evidence=without_evidence))


def make_plan(cases: Path, settings: RunSettings, k: str = "") -> Plan:
    """The same arguments give the same plan, everywhere. `k` selects cases, as pytest's -k does.

    UsageError where an agent, a profile, a case or a selection is wrong.
    """
    check_spec(settings.agent)
    settings = replace(settings, agent=masked(settings.agent))
    profile = load_profile(settings.profile)
    return build(load_cases(cases), settings, profile.name, profile.digest, k)


def require_ports(agent_ports: Sequence[int], agent: str) -> None:
    """UsageError where a port is none, or nobody would use it."""
    if agent_ports and not agent.startswith(COMMAND):
        raise UsageError(
            f"--agent-port is for command: agents, and {agent!r} is none: leave it out"
        )
    for port in agent_ports:
        if not 0 < port < 65536:
            raise UsageError(f"--agent-port {port}: choose a number from 1 to 65535")


def require_port(metrics: MetricsPort | None, backend: str) -> None:
    """UsageError where they cannot be served; before anything is started."""
    if metrics is None:
        return
    if backend == CLUSTER:
        raise UsageError("--metrics-port: on a cluster the coordinator's Pod serves its metrics")
    metrics.require_free()


def start(
    job: Job, cases: Path, on_event: OnEvent, card: AgentCard | None = None,
    metrics: MetricsPort | None = None,
) -> Run:  # fmt: skip
    """Write a new run's folder and execute it."""
    write_documents(job, cases, card)
    return carry_out(job, on_event, metrics)


def carry_out(
    job: Job, on_event: OnEvent, metrics: MetricsPort | None = None, *,
    without_evidence: bool = False,
) -> Run:  # fmt: skip
    """Execute a prepared run, and write its report."""
    plan, episodes = job.plan, len(job.plan.episodes)
    on_event(
        Notice(
            f"run {job.run}: {episodes} episodes of {len(plan.cases)} cases, agent {plan.agent}, "
            f"{min(job.devices, episodes)} phones, {job.backend.name}, plan {plan.digest[:12]}"
        )
    )

    if job.confinement is not None:
        on_event(Notice(f"agent: {job.confinement.sentence}"))

    async def executed(interrupted: asyncio.Event) -> None:
        if metrics is None:
            await execute(job, on_event, interrupted, without_evidence=without_evidence)
            return
        counts = run_metrics(job.run.name, plan, job.backend.lock.digest, job.backend.name)
        async with exposing(counts, job.run, metrics, interrupted, notifier(on_event)):
            await execute(
                job, on_event, interrupted, metrics=counts, without_evidence=without_evidence
            )

    blocking(executed, on_event)
    return Run(job.run, job.plan, report.save(job.run))


def device_count(devices: int) -> int:
    if devices < 0:
        raise UsageError(f"{devices} devices cannot run anything: choose 1 or more")
    return devices or min(MOST_DEFAULT_DEVICES, 2 * (os.cpu_count() or 1))


def _latest(run: Run) -> Run:
    """Also writes the report to the folder of all runs, as the latest."""
    report.publish(run.folder)
    return run
