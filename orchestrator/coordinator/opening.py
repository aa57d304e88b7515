"""How is a run begun, or gone on with? Under a lock, from its journal, with the same plan."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import UsageError
from ..events.bulk import bulk
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
        with bulk():
            coordinator = Coordinator(run, plan, settings, proofs.recorded(run))
        async with coordinator:
            yield coordinator
    finally:
        os.close(file)


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
