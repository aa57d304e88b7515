"""Where do bundles lie, and how does an upload become one?

    episodes/<episode>/attempt-<n>/         scored: the journal has its line
    episodes/<episode>/fenced-<hash>/       came after its lease had ended; kept, never scored
    episodes/<episode>/aside-<n>-<digest>/  stored when a coordinator died before the line: accepted
                                            again when its worker sends it again, and then removed
    incoming/                               uploads too large for memory, while they arrive

Every bundle is durable before its journal line is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pydantic import ValidationError

from ..evidence import archive, attempt, manifest
from ..evidence.attempt import AttemptRecord
from .transitions import LeaseGranted

EPISODES = "episodes"
INCOMING = "incoming"
_IN_MEMORY = 1 << 20  # of an upload; beyond it, on disk
_ATTEMPT = re.compile(r"attempt-(\d+)")


@dataclass(frozen=True)
class Stored:
    record: AttemptRecord
    manifest: str  # digest
    bundle: str  # folder, from the run's


class Store:
    def __init__(self, run: Path, limits: archive.ArchiveLimits) -> None:
        self._run = run
        self._limits = limits
        self._incoming = run / INCOMING

    def open(self) -> None:
        """Ready for uploads, once `clear` was here."""
        if self._incoming.exists():
            shutil.rmtree(self._incoming)
        self._incoming.mkdir()
        (self._run / EPISODES).mkdir(exist_ok=True)
        manifest.sync_folder(self._run)

    def clear(self, journaled: Collection[str]) -> None:
        """What a dead coordinator left half done; `journaled` are the bundles with a line."""
        with os.scandir(self._run / EPISODES) as entries:
            episodes = [entry.path for entry in entries if entry.is_dir()]
        # Plain names and no paths: 100,000 folders hold one bundle each, and it is journaled.
        for episode in episodes:
            above = f"{EPISODES}/{os.path.basename(episode)}"
            for name in os.listdir(episode):
                if f"{above}/{name}" not in journaled:
                    self._clear(Path(episode, name))

    def _clear(self, folder: Path) -> None:
        """Something without a line."""
        unfinished = folder.match(".*.part")
        if unfinished or folder.name.startswith("fenced-"):  # it is sent again under the same name
            shutil.rmtree(folder)
        number = _ATTEMPT.fullmatch(folder.name)
        if number is None:
            return
        aside = self._aside(folder.parent, int(number[1]), manifest.digest(folder))
        if aside.exists():  # the same bundle, sent again to a coordinator that died again
            shutil.rmtree(aside)
        folder.rename(aside)

    def spool(self) -> IO[bytes]:
        """For an upload: memory at first, then a file without a name, gone with its reader."""
        return cast(
            IO[bytes],
            tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(self._incoming)),
        )

    def take(self, upload: IO[bytes], granted: LeaseGranted, digest: str, scored: bool) -> Stored:
        """Verify the upload and give it its place; BadArchive where it is not this attempt's."""
        episode = self._run / EPISODES / granted.episode
        episode.mkdir(exist_ok=True)
        token = hashlib.sha256(granted.token.encode()).hexdigest()[:16]
        target = episode / (f"attempt-{granted.attempt}" if scored else f"fenced-{token}")

        def accept(folder: Path) -> AttemptRecord:
            if manifest.digest(folder) != digest:
                raise archive.BadArchive("the manifest's digest is not the one that was announced")
            return _record(folder, granted)

        upload.seek(0)
        record = archive.unpack(upload, target, accept, self._limits)
        # Last: on most disks the bundle's own syncs have written this name too. And always, since
        # whoever made the folder may be another upload that has not come so far.
        manifest.sync_folder(episode.parent)
        aside = self._aside(episode, granted.attempt, digest)
        if scored and aside.exists():
            shutil.rmtree(aside)
        return Stored(record, digest, self._named(target))

    def close(self) -> None:
        if self._incoming.exists():
            shutil.rmtree(self._incoming)

    def _named(self, folder: Path) -> str:
        return folder.relative_to(self._run).as_posix()

    @staticmethod
    def _aside(episode: Path, number: int, digest: str) -> Path:
        return episode / f"aside-{number}-{digest[:16]}"


def _record(folder: Path, granted: LeaseGranted) -> AttemptRecord:
    try:
        record = attempt.read(folder)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise archive.BadArchive(f"{attempt.NAME}: {where} {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise archive.BadArchive(f"{attempt.NAME} cannot be read: {error}") from error
    told = (record.episode, record.attempt, record.device)
    leased = (granted.episode, granted.attempt, granted.device)
    if told != leased:
        raise archive.BadArchive(
            f"{attempt.NAME} is of {told[0]}, attempt {told[1]} on {told[2]}; "
            f"the lease is for {leased[0]}, attempt {leased[1]} on {leased[2]}"
        )
    return record
