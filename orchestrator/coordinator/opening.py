"""How is a run begun, or gone on with? Under a lock, from its journal, with the same plan."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from ..errors import UsageError
from ..pins import proofs
from ..plan.plan import Plan
from ..settings import RunSettings
from .coordinator import Coordinator

LOCK = "lock"


@asynccontextmanager
async def open_run(run: Path, plan: Plan, settings: RunSettings) -> AsyncIterator[Coordinator]:
    """A new run in this folder, or the one whose journal is there, replayed.

    UsageError where another coordinator runs it or the plan is another one; JournalBroken where
    the journal is not the one that was written; JournalUnwritable where none can be.
    """
    file = _lock(run)
    try:
        with _building():
            coordinator = Coordinator(run, plan, settings, proofs.recorded(run))
        async with coordinator:
            yield coordinator
    finally:
        os.close(file)


@contextmanager
def _building() -> Iterator[None]:
    """What is made meanwhile stays, and is never looked through for garbage.

    Looking is a third of the time it takes to replay 100,000 episodes; without the freeze, the
    first look would come with the first lease, and be at all of them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _lock(run: Path) -> int:
    """The run's folder, made and held against a second coordinator until the file is closed."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        file = os.open(run / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{run} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(file)
        raise UsageError(f"{run} is being run by another coordinator: wait for it") from error
    return file
