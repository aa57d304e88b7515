"""Pulls a run from its coordinator: journal, bundles and documents, each verified as it comes.

A pull that was broken off goes on where it ended: the journal says what is missing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import StrEnum
from pathlib import Path, PurePosixPath

from ..coordinator import chain
from ..coordinator.follow import AdminClient, JournalCopy
from ..coordinator.run_files import LOGS, is_bundle
from ..coordinator.server import BUNDLE_LIMIT
from ..coordinator.transitions import AttemptCommitted, AttemptFenced, Event, RunSealed
from ..errors import EmufarmError
from ..evidence import archive, manifest
from ..files import file_sha256, write_atomically
from .run_events import Journaled, Notice, OnEvent

WAIT_S = 5  # for a line that is added to the journal, in one request
LOOK_S = 0.5  # how soon somebody who asks it to stop is heard
_AT_ONCE = 4  # bundles that are on their way


class PulledBroken(EmufarmError):
    """What came is not what the journal vouches for."""


class _Stopped(Exception):
    """Somebody asked."""


class PullEnd(StrEnum):
    """How a pull ended."""

    SEALED = "sealed"  # all of the run is here, and its seal proves it
    ENDED = "ended"  # all that there is: the run ended without a seal
    STOPPED = "stopped"  # more may come


class NoticeReader:
    """Reports a coordinator's notices, each once, however often the connection breaks."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._count = 0

    def read(self, client: AdminClient) -> bool:
        """Whether nothing is added to the run any more."""
        found = client.notices(self._count)
        for line in found["lines"]:
            self._on_event(Notice(line))
        self._count = found["count"]
        return bool(found["served_only"])


def pull(
    client: AdminClient,
    folder: Path,
    on_event: OnEvent,
    stop: Callable[[], bool] = lambda: False,
    notices: NoticeReader | None = None,
    *,
    now: bool = False,
    on_progress: Callable[[], None] = lambda: None,
) -> PullEnd:
    """Until all of the run is in this folder, or `stop` holds, at any time; with `now`, until all
    is here that is committed by now. `on_progress` is called whenever a bundle has come, and
    whenever nothing is missing.

    PulledBroken where a bundle or a document is another than the journal says; CoordinatorAway
    where nobody answers any more.
    """
    copy = JournalCopy(folder / chain.FOLDER)
    known = [line.event for line in chain.read(folder / chain.FOLDER).lines]
    bundles = _Bundles(client, folder, stop, on_progress)
    notices = notices or NoticeReader(on_event)
    try:
        sealed = bundles.take(known)
        while sealed is None:
            # Asked before the journal: what ends in between is not taken for all that there is.
            ended = notices.read(client)
            events = copy.update(client, 0 if ended or now else WAIT_S)
            sealed = bundles.take(events)
            for event in events:
                on_event(Journaled(event))
            on_progress()
            if sealed is None and ended and not events:
                _take_logs(client, folder)
                return PullEnd.ENDED
            if sealed is None and not ended and now:
                return PullEnd.STOPPED
    except _Stopped:
        return PullEnd.STOPPED
    finally:
        bundles.close()
    _take_documents(client, folder, sealed)
    return PullEnd.SEALED


class _Bundles:
    """Brings bundles to the run's folder, some at once."""

    def __init__(
        self,
        client: AdminClient,
        folder: Path,
        stop: Callable[[], bool],
        on_progress: Callable[[], None],
    ) -> None:
        self._client = client
        self._folder = folder
        self._stop = stop
        self._on_progress = on_progress
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pull")

    def close(self) -> None:
        """After a fault, what has not begun is not begun."""
        self._threads.shutdown(cancel_futures=True)

    def take(self, events: Iterable[Event]) -> RunSealed | None:
        """Fetches the bundles of these events that are not here; the run's seal, where it is among
        them."""
        sealed, coming = None, set[Future[None]]()
        for event in events:
            if isinstance(event, AttemptCommitted | AttemptFenced):
                if not is_bundle(event.bundle):
                    raise PulledBroken(
                        f"the journal names {event.bundle!r}, which is no bundle of a run"
                    )
                if not (self._folder / event.bundle).is_dir():  # it has its name once it is whole
                    coming.add(self._threads.submit(self._fetch, event))
            elif isinstance(event, RunSealed):
                sealed = event
        self._check_stop()
        while coming:
            come, coming = wait(coming, LOOK_S, return_when=FIRST_COMPLETED)
            for bundle in come:
                bundle.result()
                self._on_progress()
            self._check_stop()
        return sealed

    def _fetch(self, event: AttemptCommitted | AttemptFenced) -> None:
        target = self._folder / event.bundle

        def check(size: int) -> None:
            self._check_stop()
            if size > BUNDLE_LIMIT:
                raise PulledBroken(f"{event.bundle} is larger than any bundle of a run")

        def accept(found: archive.ArchiveContents) -> None:
            if found.digest != event.manifest:
                raise PulledBroken(f"{event.bundle} is another bundle than the journal names")

        target.parent.mkdir(parents=True, exist_ok=True)
        # On the disk that it is for, and not in the run's folder: a process may be killed.
        with tempfile.TemporaryFile(dir=self._folder.parent) as packed:
            self._client.bundle(event.bundle, packed, check)
            archive.unpack(packed, target, accept)

    def _check_stop(self) -> None:
        if self._stop():
            raise _Stopped


def require_whole(folder: Path) -> None:
    """JournalBroken where the pulled journal's chain does not hold; PulledBroken where a bundle
    that it names is not here as it was sealed, also one that was pulled long ago."""
    lines = chain.read(folder / chain.FOLDER).lines
    events = [line.event for line in lines]
    bundles = [one for one in events if isinstance(one, AttemptCommitted | AttemptFenced)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:  # hashing releases the lock
        for problem in threads.map(lambda event: _problem(folder, event), bundles):
            if problem:
                raise PulledBroken(f"{problem}: remove the bundle's folder, and pull it again")


def _problem(folder: Path, event: AttemptCommitted | AttemptFenced) -> str:
    place = folder / event.bundle
    if problems := manifest.verify(place):
        return f"{place} is not what was sealed ({problems[0]})"
    if manifest.digest(place) != event.manifest:
        return f"{place} is another bundle than the journal names"
    return ""


def _take_logs(client: AdminClient, folder: Path) -> None:
    """Of a run that has no seal to name them, and whose logs say why."""
    for name in client.logs():
        path = PurePosixPath(name)
        if path.parts[:1] != (LOGS,) or ".." in path.parts:
            raise PulledBroken(f"the coordinator names {name!r}, which is no log of a run")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, [client.file(name)])


def _take_documents(client: AdminClient, folder: Path, sealed: RunSealed) -> None:
    """Those that the seal names, as they were sealed."""
    for name, digest in sealed.files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise PulledBroken(f"the seal names {name!r}, which is no file of a run")
        target = folder / path
        if target.is_file() and file_sha256(target) == digest:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, [client.file(name)])
        if file_sha256(target) != digest:
            raise PulledBroken(f"{name} is another file than the one that was sealed")
