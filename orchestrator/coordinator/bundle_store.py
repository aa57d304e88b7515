"""Stores uploaded bundles in the run's folder: verifies them, and makes them durable.

    episodes/<episode>/attempt-<n>-c<claim>/     scored: the journal has its line
    episodes/<episode>/fenced-<hash>-c<claim>/   came after its lease had ended; kept, never scored
    incoming/<claim>/                            uploads while they arrive and are unpacked

Every bundle is durable before its journal line is written. One without a line was stored by a
coordinator that was killed, or lost its claim, before it wrote the line; its worker sends it again.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pydantic import ValidationError

from ..evidence import archive, attempt
from ..evidence.attempt import AttemptRecord
from ..files import sync_folder
from .transitions import LeaseGranted

EPISODES = "episodes"
INCOMING = "incoming"
_IN_MEMORY = 1 << 20  # bytes of an upload; a longer one goes to disk


@dataclass(frozen=True)
class StoredBundle:
    record: AttemptRecord
    bundle: str  # its folder, relative to the run's
    size: int  # bytes of all its files


def attempt_folder(episode: str, attempt: int, claim: int) -> str:
    """The folder of a scored bundle, relative to the run's."""
    return f"{EPISODES}/{episode}/attempt-{attempt}-c{claim}"


def fenced_folder(episode: str, token: str, claim: int) -> str:
    """The folder of a bundle that came late, relative to the run's."""
    return f"{EPISODES}/{episode}/fenced-{hashlib.sha256(token.encode()).hexdigest()[:16]}-c{claim}"


class BundleStore:
    def __init__(self, run: Path, claim: int, limits: archive.ArchiveLimits) -> None:
        self._run = run
        self._claim = claim
        self._limits = limits
        self._incoming = run / INCOMING / str(claim)

    def open(self, *, alone: bool) -> None:
        """Prepare for uploads. `alone`: every predecessor is known to be dead, so that what was
        arriving at one is removed."""
        if alone and self._incoming.parent.exists():
            shutil.rmtree(self._incoming.parent)
        self._incoming.mkdir(parents=True)
        (self._run / EPISODES).mkdir(exist_ok=True)
        sync_folder(self._run)

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
        folder = (
            attempt_folder(granted.episode, granted.attempt, self._claim)
            if scored
            else fenced_folder(granted.episode, granted.token, self._claim)
        )
        target = self._run / folder
        target.parent.mkdir(exist_ok=True)

        def accept(found: archive.ArchiveContents) -> tuple[AttemptRecord, int]:
            if found.digest != digest:
                raise archive.BadArchive("the manifest's digest is not the one that was announced")
            return _record(found.attempt, granted), found.size

        if target.exists():
            shutil.rmtree(
                target
            )  # an earlier try stored it, failed before its line, and sends it again
        record, size = archive.unpack(upload, target, accept, self._limits, self._incoming)
        # Last, since on most disks the bundle's own syncs have written this name too. Always, since
        # another upload may have made the folder and not yet synced it.
        sync_folder(target.parent.parent)
        return StoredBundle(record, folder, size)

    def close(self) -> None:
        if self._incoming.exists():
            shutil.rmtree(self._incoming)


def _record(data: bytes | None, granted: LeaseGranted) -> AttemptRecord:
    if data is None:
        raise archive.BadArchive(f"there is no {attempt.NAME}, or it is too long")
    try:
        record = AttemptRecord.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise archive.BadArchive(f"{attempt.NAME}: {where} {first['msg']}") from error
    recorded = (record.episode, record.attempt, record.device)
    leased = (granted.episode, granted.attempt, granted.device)
    if recorded != leased:
        raise archive.BadArchive(
            f"{attempt.NAME} is of {recorded[0]}, attempt {recorded[1]} on {recorded[2]}; "
            f"the lease is for {leased[0]}, attempt {leased[1]} on {leased[2]}"
        )
    return record
