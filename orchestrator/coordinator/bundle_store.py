"""Stores uploaded bundles in the run's folder: verifies them, and makes them durable.

    episodes/<episode>/attempt-<n>/         scored: the journal has its line
    episodes/<episode>/fenced-<hash>/       came after its lease had ended; kept, never scored
    episodes/<episode>/aside-<n>-<digest>/  stored when a coordinator was killed before it wrote the
                                            line; removed once its worker has sent it again
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
from ..files import sync_folder
from .transitions import LeaseGranted

EPISODES = "episodes"
INCOMING = "incoming"
_IN_MEMORY = 1 << 20  # bytes of an upload; a longer one goes to disk
_ATTEMPT = re.compile(r"attempt-(\d+)")


@dataclass(frozen=True)
class StoredBundle:
    record: AttemptRecord
    bundle: str  # its folder, relative to the run's


class BundleStore:
    def __init__(self, run: Path, limits: archive.ArchiveLimits) -> None:
        self._run = run
        self._limits = limits
        self._incoming = run / INCOMING

    def open(self) -> None:
        """Prepare for uploads; `clear` must run before the first is taken."""
        if self._incoming.exists():
            shutil.rmtree(self._incoming)
        self._incoming.mkdir()
        (self._run / EPISODES).mkdir(exist_ok=True)
        sync_folder(self._run)

    def clear(self, journaled: Collection[str]) -> None:
        """Clear what a killed coordinator left half done; `journaled` bundles have a line."""
        with os.scandir(self._run / EPISODES) as entries:
            episodes = [entry.path for entry in entries if entry.is_dir()]
        # Names instead of Path objects: 100,000 folders hold one bundle each, which is journaled.
        for episode in episodes:
            above = f"{EPISODES}/{os.path.basename(episode)}"
            for name in os.listdir(episode):
                if f"{above}/{name}" not in journaled:
                    self._clear(Path(episode, name))

    def _clear(self, folder: Path) -> None:
        """Clear a folder that has no line in the journal."""
        unfinished = folder.match(".*.part")
        if unfinished or folder.name.startswith("fenced-"):  # it is sent again under the same name
            shutil.rmtree(folder)
        number = _ATTEMPT.fullmatch(folder.name)
        if number is None:
            return
        aside = self._aside(folder.parent, int(number[1]), manifest.digest(folder))
        if aside.exists():  # the same bundle, sent again to a coordinator that was killed again
            shutil.rmtree(aside)
        folder.rename(aside)

    def spool(self) -> IO[bytes]:
        """A temporary file for an upload: in memory at first, then on disk without a name."""
        return cast(
            IO[bytes],
            tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(self._incoming)),
        )

    def take(
        self, upload: IO[bytes], granted: LeaseGranted, digest: str, scored: bool
    ) -> StoredBundle:
        """Verify the upload and move it into its folder; BadArchive if it is not this attempt's."""
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
        # Last, since on most disks the bundle's own syncs have written this name too. Always, since
        # another upload may have made the folder and not yet synced it.
        sync_folder(episode.parent)
        aside = self._aside(episode, granted.attempt, digest)
        if scored and aside.exists():
            shutil.rmtree(aside)
        return StoredBundle(record, target.relative_to(self._run).as_posix())

    def close(self) -> None:
        if self._incoming.exists():
            shutil.rmtree(self._incoming)

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
    recorded = (record.episode, record.attempt, record.device)
    leased = (granted.episode, granted.attempt, granted.device)
    if recorded != leased:
        raise archive.BadArchive(
            f"{attempt.NAME} is of {recorded[0]}, attempt {recorded[1]} on {recorded[2]}; "
            f"the lease is for {leased[0]}, attempt {leased[1]} on {leased[2]}"
        )
    return record
