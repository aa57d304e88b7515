"""The coordinators of a run: why none answers, whether they have ended, and how one is started."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime

from ...errors import EmufarmError, RunInterrupted, UsageError
from ...fleet.kubernetes import names
from ...fleet.kubernetes.api import PODS, Json
from ...fleet.kubernetes.farm_run import UNREADABLE, owner_reference
from ...fleet.kubernetes.pod_status import Waiting
from ...fleet.kubernetes.run_objects import JOBS, SERVICES, TEMPLATES, VOLUMES, JobUse, RunObjects
from ...outcome import Cause
from . import documents
from .options import PENDING_S
from .reach import COORDINATOR, ClusterRun
from .start import PENDING, coordinator_arguments

LEAVES_S = 120.0  # for the Pod of a coordinator whose Job was deleted; it is given 30 s to end
STALE_S = 60.0  # for a kubelet to confirm the end of a Pod whose time is over
LOOK_S = 0.5
# A Job says so first, and that it has ended once its last Pod is gone, which may be on a lost node.
_ENDED = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


class RunGone(EmufarmError):
    """Somebody has deleted the FarmRun."""


async def explain(run: ClusterRun, error: Exception) -> Waiting:
    """Why the coordinator does not answer. Where it has ended, one that only serves is started."""
    found = await run.find()
    if found is None:
        raise RunGone(
            f"the run {run.name} is gone: somebody deleted its FarmRun, and its evidence with "
            "it; what was pulled before stays"
        )
    status, jobs = found.get("status") or {}, await run.jobs()
    begun = status.get("phase", "Pending") != "Pending"
    if begun:
        await _require_volume(run, found)
    # A Job that somebody deleted leaves its Pod for a moment, or for good.
    living = await _living(run)
    if has_left(jobs) and (jobs or begun) and not [each for each in living if not is_stale(each)]:
        if status.get("phase") == "Failed" and "total" not in status:
            raise EmufarmError(f"{run.name} never began: {status.get('message')}")
        if any(one["reason"] == UNREADABLE for one in status.get("conditions", ())):
            raise EmufarmError(f"{run.name} cannot be served: {status.get('message')}")
        await coordinator_again(run, serve_only=True)
        text = "the coordinator has left: another one is started to serve the run"
        return Waiting(Cause.UNKNOWN, text)
    trouble = await run.coordinator_trouble() or Waiting(Cause.UNKNOWN, str(error))
    return replace(trouble, text=f"the coordinator is away: {trouble.text}")


async def _require_volume(run: ClusterRun, farm_run: Json) -> None:
    """UsageError where nothing can be read, or gone on with, any more."""
    volume = await run.api.get(VOLUMES, names.run_object(run.name))
    if volume is not None and not volume["metadata"].get("deletionTimestamp"):
        return
    if (farm_run.get("status") or {}).get("pulled"):
        raise UsageError(
            f"the volume of {run.name} is gone: somebody has pulled all of it, and it was not kept "
            "for longer"
        )
    raise UsageError(
        f"the volume of {run.name} was deleted before anybody had all of it: what was pulled "
        "before stays"
    )


def has_left(jobs: list[Json]) -> bool:
    """No coordinator is at work, nor will one be: each Job has ended, or somebody deleted it."""
    return all(_ended(job) for job in jobs)


def _ended(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(one["type"] in _ENDED and one["status"] == "True" for one in conditions)


def is_stale(pod: Json) -> bool:
    """Its time to end was over long ago, and its node does not say that it has: whoever only reads
    the volume need not wait for that."""
    until = pod["metadata"].get("deletionTimestamp")  # its grace included
    if not until:
        return False
    return (datetime.now(UTC) - datetime.fromisoformat(until)).total_seconds() > STALE_S


async def coordinator_again(run: ClusterRun, *, serve_only: bool) -> None:
    """Starts one on the run's volume: to serve an ended run, or to go on with one that failed."""
    farm_run = await run.farm_run()
    template = await run.api.get(TEMPLATES, documents.COORDINATOR)
    service = await run.api.get(SERVICES, names.run_object(run.name))
    if template is None or service is None:
        raise UsageError(f"{run.name} has no coordinator's PodTemplate or Service any more")
    await _require_volume(run, farm_run)
    annotations = farm_run["metadata"].get("annotations") or {}
    pending_s = float(annotations.get(PENDING, PENDING_S))
    arguments = coordinator_arguments(run.name, service, pending_s)
    arguments = replace(arguments, serve_only=serve_only, resume=not serve_only)
    objects = RunObjects(run.name, owner_reference(farm_run))
    image = farm_run["spec"]["workerImage"]
    use: JobUse = "serve" if serve_only else "again"
    job = objects.job(template["template"], image, arguments.words(), use)
    await run.api.create(JOBS, job)


async def end_coordinators(run: ClusterRun, asked: asyncio.Event) -> None:
    """Returns once none of them serves the run any more: one that has ended its work would say
    that the run has ended."""
    since = time.monotonic()
    while True:
        for job in await run.jobs():  # somebody who follows the run may start one that serves it
            await run.api.delete(JOBS, job["metadata"]["name"])
        living = await _living(run)
        if not living:
            return
        if asked.is_set():
            raise RunInterrupted(f"{run.name} has no coordinator now: `{run.command('resume')}`")
        if time.monotonic() - since > LEAVES_S:
            name = living[0]["metadata"]["name"]
            raise EmufarmError(
                f"the Pod {name} of the former coordinator does not end: where its node is "
                f"lost, the cluster's administrator ends it (kubectl delete pod {name} -n "
                f"{run.farm.name} --force); then `{run.command('resume')}`"
            )
        await asyncio.sleep(LOOK_S)


async def _living(run: ClusterRun) -> list[Json]:
    found, _ = await run.api.listed(PODS, names.run_selector(run.name, COORDINATOR))
    return [
        pod for pod in found
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
    ]  # fmt: skip
