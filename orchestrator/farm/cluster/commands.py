"""Starts, follows, pulls, resumes, cancels and lists runs on a cluster."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ...errors import EmufarmError, RunInterrupted, UsageError
from ...fleet.kubernetes.api import ClusterRefused, Json
from ...fleet.kubernetes.farm_run import FARM_RUNS
from ...fleet.kubernetes.run_objects import JOBS
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ...report import build as report
from ..interruption import blocking
from ..run_events import Notice, OnEvent, ignore
from ..runs import RUNS, Run
from .options import DEFAULTS, ClusterOptions
from .reach import ClusterRun, FarmNamespace, farm_namespace, refused
from .start import NewRun, start
from .watching import coordinator_again, follow, require_same

T = TypeVar("T")
MOVED_S = 900.0  # a worker waits so long for a coordinator that is moved to another node
LEAVING = "leaving the run, which goes on in the cluster (again: end at once)"
STOPPING = "stopping: removing the run from the cluster (again: end at once)"


@dataclass(frozen=True)
class ListedRun:
    """A run, wherever it is."""

    name: str
    place: str  # a namespace of a cluster, or a folder of this machine
    phase: str
    done: str
    success: int
    infra: int
    devices: int
    pulled: bool


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
    blocking(begin, on_event, STOPPING)
    if options.detach:
        return Run(new.folder, new.plan)
    try:
        return watch(new.name, options=options, runs=new.folder.parent, on_event=on_event)
    except NothingDecided:
        shutil.rmtree(new.folder, ignore_errors=True)  # its name can be given again
        raise


def watch(
    name: str, *, options: ClusterOptions = DEFAULTS, runs: str | Path = RUNS,
    on_event: OnEvent = ignore, now: bool = False,
) -> Run:  # fmt: skip
    """Follows a run of a cluster to its end, and brings its evidence to a folder of this machine.
    With `now`, what is committed by now is brought, and nobody waits for more."""
    folder = Path(runs) / name

    async def work(asked: asyncio.Event) -> None:
        async with farm_namespace(options.namespace, options.context) as farm:
            run = farm.run(name)
            require_same(folder, await run.farm_run())
            await follow(run, folder, on_event, asked, now=now)
            await _conclude(run)

    blocking(work, on_event, LEAVING)
    return _written(folder)


def resume_on_cluster(
    name: str, *, devices: int, options: ClusterOptions, runs: str | Path, on_event: OnEvent
) -> Run:
    """Follows it again, with so many devices where that is not 0. One that failed gets another
    coordinator, also while the one that gave up still serves it."""

    async def work(asked: asyncio.Event) -> None:
        async with farm_namespace(options.namespace, options.context) as farm:
            run = farm.run(name)
            farm_run = await run.farm_run()
            require_same(Path(runs) / name, farm_run)
            if farm_run["spec"].get("cancel"):
                raise UsageError(f"{name} was cancelled, and stays so: start a new run")
            try:
                if devices:
                    await farm.api.patch(FARM_RUNS, name, {"spec": {"devices": devices}})
                if (farm_run.get("status") or {}).get("phase") == "Failed":
                    for job in await run.jobs():
                        await farm.api.delete(JOBS, job["metadata"]["name"])
                    await coordinator_again(run, serve_only=False)
            except ClusterRefused as error:
                raise refused(error, farm.name) from error

    blocking(work, on_event, LEAVING)
    return watch(name, options=options, runs=runs, on_event=on_event)


def cancel(name: str, *, options: ClusterOptions = DEFAULTS) -> None:
    """Asks the run's coordinator to end it. What is sealed by then stays, and can be pulled."""

    async def work(asked: asyncio.Event) -> None:
        async with farm_namespace(options.namespace, options.context) as farm:
            await farm.run(name).farm_run()
            try:
                await farm.api.patch(FARM_RUNS, name, {"spec": {"cancel": True}})
            except ClusterRefused as error:
                raise refused(error, farm.name) from error

    blocking(work, ignore, LEAVING)


def cluster_runs(options: ClusterOptions) -> list[ListedRun]:
    """Those of a namespace, the latest first."""

    async def work(asked: asyncio.Event) -> list[ListedRun]:
        async with farm_namespace(options.namespace, options.context) as farm:
            return [_listed(farm, one) for one in await farm.runs()]

    return blocking(work, ignore, LEAVING)


def local_runs(runs: str | Path = RUNS) -> list[ListedRun]:
    """Those in a folder of this machine, the latest first."""
    plans = sorted(Path(runs).glob(f"*/{PLAN}"), key=lambda each: each.stat().st_mtime)
    found = []
    for path in reversed(plans):
        try:
            done = report.compute(path.parent)
        except (EmufarmError, OSError):
            found.append(ListedRun(path.parent.name, str(runs), "Unreadable", "", 0, 0, 0, False))
            continue
        outcomes = [each.final.outcome for each in done.episodes if each.final is not None]
        found.append(
            ListedRun(
                path.parent.name, str(runs), "Complete" if done.complete else "Unfinished",
                f"{len(outcomes)}/{len(done.episodes)}",
                sum(outcome == "success" for outcome in outcomes),
                done.infrastructure.attempts_failed, 0, True,
            )
        )  # fmt: skip
    return found


def _listed(farm: FarmNamespace, farm_run: Json) -> ListedRun:
    status: dict[str, Any] = farm_run.get("status") or {}
    return ListedRun(
        farm_run["metadata"]["name"], farm.name, str(status.get("phase", "Pending")),
        str(status.get("done", f"0/{farm_run['spec']['episodes']}")),
        int(status.get("success", 0)), int(status.get("infra", 0)),
        int(status.get("devices", 0)), bool(status.get("pulled")),
    )  # fmt: skip


class NothingDecided(EmufarmError):
    """The run failed before its first decision."""


async def _conclude(run: ClusterRun) -> None:
    """A run that failed before anything was decided leaves nothing: there is nothing to keep."""
    status = ((await run.find()) or {}).get("status") or {}
    if status.get("phase") == "Failed" and not status.get("decided"):
        await run.delete()
        raise NothingDecided(f"no episode could be run: {status.get('message')}")


def _written(folder: Path) -> Run:
    if not (folder / PLAN).is_file():
        raise EmufarmError(f"{folder} has no plan: nothing was pulled")
    done = Run(folder, read_plan(folder / PLAN), report.save(folder))
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
