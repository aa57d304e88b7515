"""How is a run begun, or gone on with? Under a lock, from its journal, with the same plan."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import UsageError
from ..plan.plan import Plan
from ..settings import RunSettings
from . import chain
from .coordinator import Coordinator
from .transitions import RunOpened

LOCK = "lock"


@asynccontextmanager
async def open_run(run: Path, plan: Plan, settings: RunSettings) -> AsyncIterator[Coordinator]:
    """A new run in this folder, or the one whose journal is there, replayed.

    UsageError where another coordinator runs it or the plan is another one; JournalBroken where
    the journal is not the one that was written; JournalUnwritable where none can be.
    """
    file = _lock(run)
    try:
        read = chain.read(run / chain.FOLDER)
        _same_plan(run, read, plan)
        async with Coordinator(run, plan, settings, read) as coordinator:
            yield coordinator
    finally:
        os.close(file)


def _same_plan(run: Path, read: chain.Read, plan: Plan) -> None:
    for line in read.lines:
        if isinstance(line.event, RunOpened) and line.event.plan != plan.digest:
            raise UsageError(
                f"{run} was started with another plan ({line.event.plan[:12]}, now "
                f"{plan.digest[:12]}): its cases, profile or flags changed; start a new run"
            )


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
