"""How is a run begun, or gone on with? Under a lock, from its journal, with the same plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import UsageError
from ..events.bulk import bulk
from ..locks import FileLock, LockHeld, try_lock
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
    with _lock(run):
        with bulk():
            coordinator = Coordinator(run, plan, settings, proofs.recorded(run))
        async with coordinator:
            yield coordinator


def _lock(run: Path) -> FileLock:
    """The run's folder, made and held against a second coordinator."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        return try_lock(run / LOCK)
    except LockHeld as error:
        raise UsageError(f"{run} is being run by another coordinator: wait for it") from error
    except OSError as error:
        raise UsageError(f"{run} cannot be written: {error.strerror}") from error
