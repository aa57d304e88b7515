"""Follows a run on a cluster to its end, and brings everything of it to this machine.

Whoever follows may come and go: the run does not depend on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ... import __version__
from ...coordinator import chain
from ...coordinator.client import CoordinatorAway
from ...coordinator.follow import AdminClient, AdminRefused
from ...errors import EmufarmError, RunInterrupted, UsageError
from ...events.notify import Notify
from ...files import write_atomically
from ...fleet.kubernetes import names
from ...fleet.kubernetes.api import ClusterAway, ClusterRefused, Json
from ...fleet.kubernetes.farm_run import owner_reference
from ...fleet.kubernetes.run_objects import JOBS, SERVICES, TEMPLATES, VOLUMES, JobUse, RunObjects
from ...locks import FolderLock, LockHeld, try_lock_folder
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ..pull import NoticeReader, PullEnd, pull
from ..run_events import Journaled, Notice, OnEvent, RunEvent, RunStarted, notifier
from . import documents
from .options import PENDING_S
from .reach import AccessRefused, ClusterRun, refused
from .start import coordinator_arguments

AWAY_S = 5.0  # for one request to be repeated; then the cluster is asked about the coordinator
GIVE_UP_S = 900.0  # without an answer, although the coordinator ought to run
LOOK_S = 1.0
FORBIDDEN_S = 60.0  # for an API server that was just started to know who may do what
NOTICE_S = 5.0  # a coordinator that is away for longer is worth a sentence
VIEW_S = 1.0  # a view that is older is asked for again before an event is shown


class RunGone(EmufarmError):
    """Somebody has deleted the FarmRun."""


async def follow(
    run: ClusterRun, folder: Path, on_event: OnEvent, asked: asyncio.Event, *, now: bool = False
) -> None:
    """Until all of the run is in this folder, or with `now` all that is committed by now.
    RunInterrupted where the user asked to stop before: the run goes on. UsageError where another
    command follows it into the same folder."""
    with _alone(folder):
        await Follower(run, folder, on_event, asked).follow(now)


def _alone(folder: Path) -> FolderLock:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return try_lock_folder(folder)
    except LockHeld as error:
        raise UsageError(f"another command brings this run to {folder} already") from error


class Follower:
    """Brings a run's journal and bundles, as long as its coordinator, or the next one, answers."""

    def __init__(
        self, run: ClusterRun, folder: Path, on_event: OnEvent, asked: asyncio.Event
    ) -> None:
        self._run = run
        self._folder = folder
        self._on_event = on_event
        self._asked = asked
        self._notices = NoticeReader(on_event)
        self._answered = time.monotonic()  # the last time
        self._said = ""
        self._view: dict[str, Any] = {}

    async def follow(self, now: bool) -> None:
        while True:
            try:
                with await self._run.client(AWAY_S) as client:
                    end = await asyncio.to_thread(
                        self._take, client, lambda: now or self._asked.is_set()
                    )
                    if end is PullEnd.STOPPED and not now:
                        raise RunInterrupted(_goes_on(self._run))
                    if end is PullEnd.STOPPED:
                        return
                    await asyncio.to_thread(client.pulled)
                await _keep(self._run, end, notifier(self._on_event))
                return
            except (CoordinatorAway, ClusterAway, AdminRefused, AccessRefused) as error:
                await self._wait(error)

    async def _wait(self, error: EmufarmError) -> None:
        """Says once why nobody answers; EmufarmError where nobody has for long."""
        silent = time.monotonic() - self._answered
        forbidden = isinstance(error, AccessRefused)
        if isinstance(error, AdminRefused):
            forbidden = error.status in (401, 403)
        if forbidden and (not self._view or silent > FORBIDDEN_S):
            raise UsageError(str(error)) from error
        text = str(error) if forbidden else await self._explain(error)
        if text != self._said and silent > NOTICE_S:
            self._said = text
            self._on_event(Notice(text))
        if silent > GIVE_UP_S:
            raise EmufarmError(f"{text}; {_goes_on(self._run)}") from error
        if self._asked.is_set():
            raise RunInterrupted(_goes_on(self._run)) from error
        await asyncio.sleep(LOOK_S)

    async def _explain(self, error: EmufarmError) -> str:
        try:
            return await _explain(self._run, error)
        except AccessRefused as refusal:
            return str(refusal)

    def _take(self, client: AdminClient, stop: Callable[[], bool]) -> PullEnd:
        """The live table shows the coordinator's view."""
        self._look(client)
        require_same_journal(client, self._folder)
        _take_documents(client, self._folder)
        self._on_event(RunStarted(self._folder, lambda: self._view))

        def look() -> bool:
            self._look(client)
            return stop()

        def event(event: RunEvent) -> None:
            if isinstance(event, Journaled) and time.monotonic() - self._answered > VIEW_S:
                self._look(client)
            self._on_event(event)

        return pull(client, self._folder, event, look, self._notices)

    def _look(self, client: AdminClient) -> None:
        self._view, self._answered, self._said = client.state(), time.monotonic(), ""


def _goes_on(run: ClusterRun) -> str:
    return f"the run goes on in the cluster: `emufarm runs watch {run.name}` follows it again"


def _take_documents(client: AdminClient, folder: Path) -> None:
    """Those that the run began with, where they are not here: another machine started it. The plan
    is the last, so that a folder with a plan has them all."""
    if (folder / PLAN).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in documents.DOCUMENTS:
        write_atomically(folder / name, [client.file(name)])


def require_same(folder: Path, farm_run: Json) -> None:
    """UsageError where this folder has another run, or another version made it."""
    path, wanted = folder / PLAN, farm_run["spec"]["plan"]
    name, version = farm_run["metadata"]["name"], farm_run["spec"]["version"]
    if version != __version__:
        raise UsageError(f"{name} was made by emufarm {version}, and this is {__version__}")
    if path.is_file() and read_plan(path).digest != wanted:
        raise UsageError(_another(folder))


def require_same_journal(client: AdminClient, folder: Path) -> None:
    """UsageError where what was pulled before is of another run, which may have the same plan."""
    pulled = sorted((folder / chain.FOLDER).glob("*.jsonl"))
    if not pulled:
        return
    claim, content = int(pulled[0].stem), pulled[0].read_bytes()
    if claim not in {segment.claim for segment in client.segments(0, 0)}:
        raise UsageError(_another(folder))
    start = client.segment(claim, 0)
    length = min(len(start), content.rfind(b"\n") + 1)
    if start[:length] != content[:length]:
        raise UsageError(_another(folder))


def _another(folder: Path) -> str:
    return f"{folder} has another run than the cluster: choose another place with --runs"


async def _explain(run: ClusterRun, error: Exception) -> str:
    """Why the coordinator does not answer. Where it has ended, one that only serves is started."""
    try:
        found = await run.find()
        if found is None:
            raise RunGone(
                f"the run {run.name} is gone: somebody deleted its FarmRun, and its evidence with "
                "it; what was pulled before stays"
            )
        status = found.get("status") or {}
        jobs = await run.jobs()
        if jobs and all(ended(job) for job in jobs):
            if status.get("phase") == "Failed" and "total" not in status:
                raise EmufarmError(f"{run.name} never began: {status.get('message')}")
            await coordinator_again(run, serve_only=True)
            return "the coordinator has left: another one is started to serve the run"
        trouble = await run.coordinator_trouble()
        return f"the coordinator is away: {trouble.text if trouble else error}"
    except ClusterAway as away:
        return str(away)
    except ClusterRefused as why:
        raise refused(why, run.farm.name) from why


def ended(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions
    )


async def coordinator_again(run: ClusterRun, *, serve_only: bool) -> None:
    """Starts one on the run's volume: to serve an ended run, or to go on with one that failed."""
    farm_run, name = await run.farm_run(), names.run_object(run.name)
    template = await run.api.get(TEMPLATES, documents.COORDINATOR)
    service, volume = await run.api.get(SERVICES, name), await run.api.get(VOLUMES, name)
    if template is None or service is None:
        raise UsageError(f"{run.name} has no coordinator's PodTemplate or Service any more")
    if volume is None or volume["metadata"].get("deletionTimestamp"):
        raise UsageError(
            f"the volume of {run.name} is gone: it was pulled, and not kept for longer"
        )
    arguments = coordinator_arguments(run.name, service, PENDING_S)
    arguments = replace(arguments, serve_only=serve_only, resume=not serve_only)
    objects = RunObjects(run.name, owner_reference(farm_run))
    image = farm_run["spec"]["workerImage"]
    use: JobUse = "serve" if serve_only else "again"
    job = objects.job(template["template"], image, arguments.words(), use)
    await run.api.create(JOBS, job)


async def _keep(run: ClusterRun, end: PullEnd, notify: Notify) -> None:
    """Lets the volume go some time after this pull, where the run was made so: its claim then
    belongs to the first coordinator's Job, which the cluster removes after that time. A run that
    failed may be resumed: its volume stays."""
    farm_run = await run.find() or {}
    keep_s = farm_run.get("spec", {}).get("keepSeconds")
    jobs = await run.jobs()
    cancelled = bool(farm_run.get("spec", {}).get("cancel"))
    if keep_s is None or not jobs or not (end is PullEnd.SEALED or cancelled):
        return
    job = jobs[0]
    owner = {
        "apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"], "controller": True,
    }  # fmt: skip
    ended_at = (job.get("status") or {}).get("completionTime")
    past = 0.0
    if ended_at:
        past = (datetime.now(UTC) - datetime.fromisoformat(ended_at)).total_seconds()
    try:
        claim = names.run_object(run.name)
        await run.api.patch(VOLUMES, claim, {"metadata": {"ownerReferences": [owner]}})
        ttl = {"spec": {"ttlSecondsAfterFinished": int(max(past, 0.0)) + int(keep_s)}}
        await run.api.patch(JOBS, job["metadata"]["name"], ttl)
    except ClusterRefused as error:
        notify(f"the run's volume stays until its FarmRun is deleted: {error}")
        return
    notify(f"the run's volume goes in {keep_s} s; the FarmRun stays as its record")
