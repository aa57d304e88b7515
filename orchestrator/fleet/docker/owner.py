"""Whose is a thing on the engine? Its labels say: which run's, and which file that run holds.

A run is alive while somebody holds its lock file, so nothing here needs a process id or a clock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

RUN, SLOT, LOCK, IMAGE = "emufarm.run", "emufarm.slot", "emufarm.lock", "emufarm.image"
WORKER, DEVICE = "-worker", "-device"  # how the names of a pair's containers end
STAGING = "staging"  # beside the lock: what of a run's evidence is still on its way


@dataclass(frozen=True)
class Owner:
    """A run, as the engine knows it."""

    run: str
    lock: Path

    @property
    def labels(self) -> dict[str, str]:
        return {RUN: self.run, LOCK: str(self.lock)}

    @property
    def label(self) -> str:
        """What finds all that is its own."""
        return f"{RUN}={self.run}"

    @property
    def name(self) -> str:
        """Of its containers. Not the run's own: an engine tells names to all who share a network,
        and an agent may not know which run it is in."""
        return f"emufarm-{self.run.rpartition('-')[2]}"

    @property
    def staging(self) -> Path:
        return self.lock.with_name(STAGING)


def owner(lock: Path) -> Owner:
    """By the lock file in its folder: two runs of one name in two places are two, and one that is
    reached by a link is one."""
    place = lock.resolve()
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", place.parent.name)[:40]
    return Owner(f"{name}-{sha256(os.fsencode(place)).hexdigest()[:8]}", place)


def labelled(labels: Mapping[str, str]) -> Owner | None:
    """Whose labels these are; None where they are not whole."""
    run, lock = labels.get(RUN), labels.get(LOCK)
    return Owner(run, Path(lock)) if run and lock else None
