"""Pulls a run from its coordinator: journal, bundles and documents, each verified as it comes.

A pull that was broken off goes on where it ended: the journal says what is missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path, PurePosixPath

from ..coordinator import chain
from ..coordinator.follow import AdminClient, JournalCopy
from ..coordinator.run_files import LOGS, is_bundle
from ..coordinator.transitions import AttemptCommitted, AttemptFenced, Event, RunSealed
from ..errors import EmufarmError
from ..evidence import archive, manifest
from ..files import file_sha256, write_atomically
from .run_events import Journaled, Notice, OnEvent

WAIT_S = 5  # for a line that is added to the journal, in one request
_AT_ONCE = 4  # bundles that are on their way


class PulledBroken(EmufarmError):
    """What came is not what the journal vouches for."""


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
) -> PullEnd:
    """Until all of the run is in this folder, or `stop` holds while it goes on.

    PulledBroken where a bundle or a document is another than the journal says; CoordinatorAway
    where nobody answers any more.
    """
    copy = JournalCopy(folder / chain.FOLDER)
    known = [line.event for line in chain.read(folder / chain.FOLDER).lines]
    threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pull")
    notices = notices or NoticeReader(on_event)
    try:
        sealed = _take(client, folder, known, threads)
        while sealed is None:
            # Asked before the journal: what ends in between is not taken for all that there is.
            ended = notices.read(client)
            events = copy.update(client, 0 if ended else WAIT_S)
            sealed = _take(client, folder, events, threads)
            for event in events:
                on_event(Journaled(event))
            if sealed is None and ended and not events:
                _take_logs(client, folder)
                return PullEnd.ENDED
            if sealed is None and not ended and stop():
                return PullEnd.STOPPED
    finally:  # after a fault, what has not begun is not begun
        threads.shutdown(cancel_futures=True)
    _take_documents(client, folder, sealed)
    return PullEnd.SEALED


def _take(
    client: AdminClient, folder: Path, events: Iterable[Event], threads: ThreadPoolExecutor
) -> RunSealed | None:
    """Fetches the bundles of these events; the run's seal, where it is among them."""
    sealed, coming = None, []
    for event in events:
        if isinstance(event, AttemptCommitted | AttemptFenced):
            coming.append(threads.submit(_take_bundle, client, folder, event))
        elif isinstance(event, RunSealed):
            sealed = event
    for bundle in coming:
        bundle.result()
    return sealed


def _take_bundle(
    client: AdminClient, folder: Path, event: AttemptCommitted | AttemptFenced
) -> None:
    if not is_bundle(event.bundle):
        raise PulledBroken(f"the journal names {event.bundle!r}, which is no bundle of a run")
    target = folder / event.bundle
    if target.is_dir():  # it has its name once it is whole
        return

    def accept(place: Path) -> None:
        if manifest.digest(place) != event.manifest:
            raise PulledBroken(f"{event.bundle} is another bundle than the journal names")

    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as packed:
        client.bundle(event.bundle, packed)
        archive.unpack(packed, target, accept)


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
