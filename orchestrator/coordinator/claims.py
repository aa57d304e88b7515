"""Claims on a run: the coordinator with the highest number may write, and no other.

    claims/000001    one file per coordinator that opened the run; who made it is its text

A claim is made before the journal is read. A coordinator looks for a later claim after each sync
of the journal; where it finds one it acknowledges nothing of what it wrote, and stops. So whatever
was acknowledged was on disk before the next claim, and its maker has read it. What a coordinator
writes carries its claim's number in its name: a successor never moves or deletes what its
predecessor may still be writing.

Two things are asked of the volume: a file is made by one process only (O_EXCL), and a look-up of a
name that did not exist sees that it exists now. Listings may be late. See docs/kubernetes.md for
the mount options of network volumes.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import EmufarmError
from ..files import sync_folder

FOLDER = "claims"


class ClaimLost(EmufarmError):
    """Another coordinator has claimed the run: this one must not write any more."""


def _exists(path: Path) -> bool:
    """OSError where the volume does not answer: `Path.exists` takes some of those for a no."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class Claim:
    run: Path
    number: int
    exists: Callable[[Path], bool] = _exists  # a look-up by name

    def check(self) -> None:
        """ClaimLost where a later claim exists; OSError where the volume does not answer."""
        if self.exists(_path(self.run, self.number + 1)):
            raise ClaimLost(f"{self.run} is run by another coordinator now: this one has stopped")

    def withdraw(self) -> None:
        """For a run that turned out to be sealed: nobody writes to it any more."""
        _path(self.run, self.number).unlink()


def claim_run(
    run: Path,
    taken: Iterable[int] = (),
    listed: Callable[[Path], Iterable[str]] = os.listdir,
    exists: Callable[[Path], bool] = _exists,
) -> Claim:
    """The next free number, which is above those that are `taken` by other means."""
    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    numbers = [int(name) for name in listed(folder) if name.isdecimal()]
    number = max((*numbers, *taken), default=0) + 1
    while not _made(_path(run, number)):  # a late listing
        number += 1
    sync_folder(folder)
    sync_folder(run)
    return Claim(run, number, exists)


def _made(path: Path) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return False
    try:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(file, f"{socket.gethostname()} pid {os.getpid()} {now}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)
    return True


def _path(run: Path, number: int) -> Path:
    return run / FOLDER / f"{number:06d}"
