"""Starts or resumes a run: takes its lock and replays its journal, with the same plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import UsageError
from ..events.gc_pause import gc_paused
from ..locks import FileLock, LockHeld, try_lock
from ..pins import proofs
from ..plan.plan import Plan
from ..settings import RunSettings
from .coordinator import Coordinator

LOCK = "lock"


@asynccontextmanager
async def open_run(run: Path, plan: Plan, settings: RunSettings) -> AsyncIterator[Coordinator]:
    """The coordinator of a new run, or of the run whose journal is in this folder.

    UsageError if another coordinator holds the run or the plan is another one; JournalBroken if the
    journal was changed; JournalUnwritable if none can be written.
    """
    with _lock(run):
        with gc_paused():
            coordinator = Coordinator(run, plan, settings, proofs.recorded(run))
        async with coordinator:
            yield coordinator


def _lock(run: Path) -> FileLock:
    """Make the run's folder, and lock it against a second coordinator."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        return try_lock(run / LOCK)
    except LockHeld as error:
        raise UsageError(f"{run} is being run by another coordinator: wait for it") from error
    except OSError as error:
        raise UsageError(f"{run} cannot be written: {error.strerror}") from error
