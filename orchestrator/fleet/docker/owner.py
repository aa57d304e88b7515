"""The labels of a run's objects on the engine: which run owns them, and which lock file it holds.

A run is alive while a process holds its lock file, so no process id and no clock is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ...worker.staging import FOLDER as STAGING

RUN, SLOT, LOCK, IMAGE = "emufarm.run", "emufarm.slot", "emufarm.lock", "emufarm.image"
WORKER, DEVICE = "-worker", "-device"  # how the names of a pair's containers end


@dataclass(frozen=True)
class Owner:
    """A run, as its labels on the engine name it."""

    run: str
    lock: Path

    @property
    def labels(self) -> dict[str, str]:
        return {RUN: self.run, LOCK: str(self.lock)}

    @property
    def label(self) -> str:
        """The filter that finds all of its objects."""
        return f"{RUN}={self.run}"

    @property
    def name(self) -> str:
        """The prefix of its containers' names. It does not contain the run's name: an engine
        resolves container names for all who share a network, and an agent must not learn which run
        it is in."""
        return f"emufarm-{self.run.rpartition('-')[2]}"

    @property
    def staging(self) -> Path:
        return self.lock.with_name(STAGING)


def owner(lock: Path) -> Owner:
    """The owner with this lock file. Runs of one name in two folders are two owners; a run that is
    reached by a link is the same one."""
    place = lock.resolve()
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", place.parent.name)[:40]
    return Owner(f"{name}-{sha256(os.fsencode(place)).hexdigest()[:8]}", place)


def labelled(labels: Mapping[str, str]) -> Owner | None:
    """The owner that these labels name; None where one is missing."""
    run, lock = labels.get(RUN), labels.get(LOCK)
    return Owner(run, Path(lock)) if run and lock else None
