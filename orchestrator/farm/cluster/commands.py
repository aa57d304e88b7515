"""Starts, follows, pulls, resumes and cancels runs on a cluster."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ...coordinator import chain
from ...coordinator.transitions import LeaseGranted
from ...errors import EmufarmError, RunInterrupted, UsageError
from ...fleet.kubernetes.api import ClusterRefused, Json
from ...fleet.kubernetes.farm_run import FARM_RUNS, ended_standing
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ...report import build as report
from ..interruption import blocking
from ..run_events import Notice, OnEvent, ignore
from ..runs import RUNS, Run
from .coordinators import coordinator_again, end_coordinators, has_left
from .options import DEFAULTS, ClusterOptions
from .reach import ClusterRun, farm_namespace, refused
from .start import NewRun, start
from .watching import follow, require_same

T = TypeVar("T")
MOVED_S = 900.0  # a worker waits so long for a coordinator that is moved to another node
LEAVING = "leaving the run to the cluster, as it is there (again: end at once)"
STOPPING = "stopping: removing the run from the cluster (again: end at once)"


def run_on_cluster(new: NewRun, on_event: OnEvent) -> Run:
    """Starts it and, unless it is detached, follows it to its end."""
    options, limits = new.options, new.settings.limits
    limits = replace(limits, away_s=max(limits.away_s, MOVED_S))
    new = replace(new, settings=replace(new.settings, limits=limits))

    async def begin(asked: asyncio.Event) -> None:
        async with farm_namespace(options.namespace, options.context) as farm:
            await _unless(asked, start(farm, new, lambda line: on_event(Notice(line))))

    episodes = len(new.plan.episodes)
    on_event(
        Notice(
            f"run {new.folder}: {episodes} episodes of {len(new.plan.cases)} cases, agent "
            f"{new.plan.agent}, {min(new.devices, episodes)} phones, kubernetes, plan "
            f"{new.plan.digest[:12]}"
        )
    )
    there = new.folder.exists()
    blocking(begin, on_event, STOPPING)
    if options.detach:
        return Run(new.folder, new.plan)
    try:
        return _follow(new.name, options, new.folder.parent, on_event, now=False)
    except NothingLeased as error:
        if there:
            raise NothingLeased(_kept(error, new.folder)) from error
        shutil.rmtree(new.folder, ignore_errors=True)  # its name can be given again
        raise NothingLeased(f"{error}; nothing is left of the run") from error


def watch(
    name: str, *, options: ClusterOptions = DEFAULTS, runs: str | Path = RUNS,
    on_event: OnEvent = ignore, now: bool = False,
) -> Run:  # fmt: skip
    """Follows a run of a cluster to its end, and brings its evidence to a folder of this machine.
    With `now`, what is committed by now is brought, and nobody waits for more."""
    try:
        return _follow(name, options, Path(runs), on_event, now=now)
    except NothingLeased as error:
        raise NothingLeased(_kept(error, Path(runs) / name)) from error


def _kept(error: EmufarmError, folder: Path) -> str:
    return f"{error}; the run is removed from the cluster, and {folder} has its journal and logs"


def _follow(name: str, options: ClusterOptions, runs: Path, on_event: OnEvent, *, now: bool) -> Run:
    folder = runs / name

    async def work(asked: asyncio.Event) -> bool:
        async with farm_namespace(options.namespace, options.context) as farm:
            run = farm.run(name, runs)
            require_same(folder, await run.farm_run())
            await follow(run, folder, on_event, asked, now=now)
            farm_run = await run.find() or {}
            if not now:
                await _remove_unleased(run, farm_run, folder)
            return bool((farm_run.get("spec") or {}).get("cancel"))

    cancelled = blocking(work, on_event, LEAVING)
    return _written(folder, cancelled)


def resume_on_cluster(
    name: str, *, devices: int, options: ClusterOptions, runs: str | Path, on_event: OnEvent
) -> Run:
    """Follows it again, with so many devices where that is not 0. One that failed, or whose
    coordinator's Job somebody deleted, gets another coordinator, also while the one that gave up
    still serves it."""

    async def work(asked: asyncio.Event) -> None:
        async with farm_namespace(options.namespace, options.context) as farm:
            run = farm.run(name, runs)
            farm_run = await run.farm_run()
            require_same(Path(runs) / name, farm_run)
            if farm_run["spec"].get("cancel"):
                raise UsageError(f"{name} was cancelled, and stays so: start a new run")
            phase = (farm_run.get("status") or {}).get("phase", "Pending")
            try:
                if devices:
                    await farm.api.patch(FARM_RUNS, name, {"spec": {"devices": devices}})
                if phase == "Failed" or await _deserted(run, farm_run):
                    await end_coordinators(run, asked)
                    await coordinator_again(run, serve_only=False)
            except ClusterRefused as error:
                raise refused(error, farm.name) from error

    blocking(work, on_event, LEAVING)
    return watch(name, options=options, runs=runs, on_event=on_event)


async def _deserted(run: ClusterRun, farm_run: Json) -> bool:
    """It has begun and not ended, and no coordinator is at work, nor will one be."""
    phase = (farm_run.get("status") or {}).get("phase")
    return phase in ("Running", "Paused") and has_left(await run.jobs())


def cancel(name: str, *, options: ClusterOptions = DEFAULTS, runs: str | Path = RUNS) -> str:
    """Asks the run's coordinator to end it. What is sealed by then stays, and can be pulled: the
    command for that is returned. UsageError where it has ended already."""

    async def work(asked: asyncio.Event) -> str:
        async with farm_namespace(options.namespace, options.context) as farm:
            run = farm.run(name, runs)
            farm_run = await run.farm_run()
            ended = ended_standing(farm_run)
            if ended is not None:
                raise UsageError(
                    f"{name} has ended ({ended.phase}): there is nothing to cancel; "
                    f"`{run.command('runs pull')}` brings what it has"
                )
            if await _deserted(run, farm_run):
                raise UsageError(
                    f"{name} has no coordinator that could cancel it: somebody deleted its Job; "
                    f"`{run.command('resume')}` first, or `kubectl delete fr {name}`"
                )
            try:
                await farm.api.patch(FARM_RUNS, name, {"spec": {"cancel": True}})
            except ClusterRefused as error:
                raise refused(error, farm.name) from error
            return run.command("runs watch")

    return blocking(work, ignore, LEAVING)


def named(run: str | Path, runs: str | Path = RUNS) -> tuple[str, Path]:
    """The name of a run, which may be given as its folder, and the folder of all runs. The run's
    folder need not be there yet."""
    folder = Path(run)
    if len(folder.parts) == 1 and not (folder / PLAN).is_file():
        return str(run), Path(runs)
    whole = folder.resolve()
    return whole.name, folder.parent if len(folder.parts) > 1 else whole.parent


class NothingLeased(EmufarmError):
    """The run failed before its first attempt."""


async def _remove_unleased(run: ClusterRun, farm_run: Json, folder: Path) -> None:
    """A run that failed before anything was leased has no evidence to keep, and its name is free
    again. What did not end well after that is kept: it is the only record of why."""
    status = farm_run.get("status") or {}
    if status.get("phase") == "Failed" and not await asyncio.to_thread(_leased, folder):
        await run.delete()
        raise NothingLeased(f"no episode could be run: {status.get('message')}")


def _leased(folder: Path) -> bool:
    lines = chain.JournalReader(folder / chain.FOLDER)
    return any(isinstance(line.event, LeaseGranted) for line in lines)


def _written(folder: Path, cancelled: bool) -> Run:
    if not (folder / PLAN).is_file():
        raise EmufarmError(f"{folder} has no plan: nothing was pulled")
    done = Run(folder, read_plan(folder / PLAN), report.save(folder), cancelled)
    report.publish(folder)
    return done


async def _unless(asked: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """RunInterrupted where somebody asks before it is done."""
    task, waiting = asyncio.ensure_future(work), asyncio.ensure_future(asked.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            raise RunInterrupted("interrupted before the run had begun")
        return task.result()
    finally:
        waiting.cancel()
