"""Follows a run on a cluster to its end, and brings everything of it to this machine.

Whoever follows may come and go: the run does not depend on it.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ... import __version__, files
from ...coordinator import chain
from ...coordinator.bundle_store import EPISODES
from ...coordinator.client import CoordinatorAway
from ...coordinator.follow import AdminClient, AdminRefused
from ...coordinator.run_files import LOGS
from ...errors import EmufarmError, RunInterrupted, UsageError
from ...events.notify import Notify
from ...evidence import archive
from ...files import write_atomically
from ...fleet.kubernetes import names
from ...fleet.kubernetes.api import ClusterAway, ClusterRefused, Json
from ...fleet.kubernetes.run_objects import JOBS, VOLUMES
from ...locks import FolderLock, LockHeld, try_lock_folder
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ..pull import NoticeReader, PullEnd, pull, require_whole
from ..run_events import Journaled, Notice, OnEvent, RunEvent, RunStarted, notifier
from . import documents
from .coordinators import explain
from .reach import AccessRefused, ClusterRun, refused

AWAY_S = 5.0  # for one request to be repeated; then the cluster is asked about the coordinator
GIVE_UP_S = 900.0  # without anything that came, although the coordinator ought to run
LOOK_S = 1.0
FORBIDDEN_S = 60.0  # for an API server that was just started to know who may do what
NOTICE_S = 5.0  # a coordinator that is away for longer is worth a sentence
VIEW_S = 1.0  # a view that is older is asked for again before an event is shown


async def follow(
    run: ClusterRun, folder: Path, on_event: OnEvent, asked: asyncio.Event, *, now: bool = False
) -> None:
    """Until all of the run is in this folder, or with `now` all that is committed by now.
    RunInterrupted where the user asked to stop before: the run stays as it is. UsageError where
    another command follows it into the same folder."""
    with _alone(folder):
        remove_unfinished(folder)
        await Follower(run, folder, on_event, asked).follow(now)


def _alone(folder: Path) -> FolderLock:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return try_lock_folder(folder)
    except LockHeld as error:
        raise UsageError(f"another command brings this run to {folder} already") from error


class Follower:
    """Brings a run's journal and bundles, as long as its coordinator, or the next one, answers and
    brings it on."""

    def __init__(
        self, run: ClusterRun, folder: Path, on_event: OnEvent, asked: asyncio.Event
    ) -> None:
        self._run = run
        self._folder = folder
        self._on_event = on_event
        self._asked = asked
        self._notices = NoticeReader(on_event)
        self._progress = time.monotonic()  # the last time that something came, or nothing missed
        self._queued = 0.0  # the last time that its coordinator waited in a queue
        self._viewed = 0.0
        self._said = ""
        self._view: dict[str, Any] = {}
        self._whole = False

    async def follow(self, now: bool) -> None:
        while True:
            try:
                with await self._run.client(AWAY_S) as client:
                    end = await asyncio.to_thread(self._take, client, now)
                    if end is PullEnd.STOPPED and self._asked.is_set():
                        raise RunInterrupted(_kept(self._run))
                    if end is PullEnd.STOPPED:
                        return
                    if not self._whole:
                        await asyncio.to_thread(require_whole, self._folder)
                        self._whole, self._progress = True, time.monotonic()  # it may take long
                    await asyncio.to_thread(client.pulled)
                await _keep(self._run, end, notifier(self._on_event))
                return
            except (CoordinatorAway, ClusterAway, AdminRefused, AccessRefused) as error:
                if isinstance(error, AdminRefused) and error.own and not error.forbidden:
                    raise EmufarmError(f"{error}; {self._folder} has what came before") from error
                await self._wait(error)

    async def _wait(self, error: EmufarmError) -> None:
        """Says once why nothing comes; EmufarmError where nothing has for long."""
        silent = time.monotonic() - self._progress
        forbidden = isinstance(error, AccessRefused)
        forbidden = forbidden or (isinstance(error, AdminRefused) and error.forbidden)
        if forbidden and (not self._view or silent > FORBIDDEN_S):
            raise UsageError(str(error)) from error
        text = str(error) if forbidden else await self._explain(error)
        if text != self._said and silent > NOTICE_S:
            self._said = text
            self._on_event(Notice(text))
        if time.monotonic() - max(self._progress, self._queued) > GIVE_UP_S:
            raise EmufarmError(f"{text}; {_kept(self._run)}") from error
        if self._asked.is_set():
            raise RunInterrupted(_kept(self._run)) from error
        await asyncio.sleep(LOOK_S)

    async def _explain(self, error: EmufarmError) -> str:
        try:
            why = await explain(self._run, error)
        except (AccessRefused, ClusterAway) as away:
            return str(away)
        except ClusterRefused as refusal:
            told = refused(refusal, self._run.farm.name)
            if isinstance(told, AccessRefused):
                return str(told)
            raise told from refusal
        if why.queued:
            self._queued = time.monotonic()
        return why.text

    def _take(self, client: AdminClient, now: bool) -> PullEnd:
        """The live table shows the coordinator's view."""
        try:
            self._look(client)
        except AdminRefused as error:
            if error.own and error.status == 404:  # all that it does yet is to take documents
                raise CoordinatorAway("the run's documents are still on their way to it") from error
            raise
        require_same_journal(client, self._folder)
        _take_documents(client, self._folder)
        self._on_event(RunStarted(self._folder, lambda: self._view))

        def look() -> None:
            self._progress, self._said = time.monotonic(), ""
            if time.monotonic() - self._viewed > VIEW_S:
                self._look(client)

        def event(event: RunEvent) -> None:
            if isinstance(event, Journaled) and time.monotonic() - self._viewed > VIEW_S:
                self._look(client)
            self._on_event(event)

        return pull(
            client, self._folder, event, self._asked.is_set, self._notices, now=now,
            on_progress=look,
        )  # fmt: skip

    def _look(self, client: AdminClient) -> None:
        self._view, self._viewed = client.state(), time.monotonic()


def remove_unfinished(folder: Path) -> None:
    """What a pull left that was killed: nothing of it belongs to the run."""
    for place in (folder, *(folder / LOGS).glob("**/")):
        files.remove_unfinished(place)
    for episode in (folder / EPISODES).glob("*"):
        archive.remove_unfinished(episode)


def _kept(run: ClusterRun) -> str:
    """True of a run that goes on, and of one that has ended."""
    return f"the cluster keeps the run: `{run.command('runs watch')}` brings the rest"


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
        raise UsageError(
            f"{name} was made by emufarm {version}, and this is {__version__}: follow, resume and "
            f"pull it with emufarm {version}; kubectl works with both"
        )
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
