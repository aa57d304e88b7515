"""Starts or resumes a run: locks it, claims it and replays its journal, with the same plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from ..errors import UsageError
from ..events.interpreter import gc_paused
from ..locks import LockHeld, try_lock
from ..pins import proofs
from ..plan.plan import Plan
from ..settings import RunSettings
from . import chain
from .claims import claim_run
from .coordinator import Coordinator
from .observer import UNOBSERVED, RunObserver

LOCK = "lock"


@asynccontextmanager
async def open_run(
    run: Path,
    plan: Plan,
    settings: RunSettings,
    *,
    alone: bool = True,
    observer: RunObserver = UNOBSERVED,
    agent: str = "",
    without_evidence: bool = False,
) -> AsyncIterator[Coordinator]:
    """The coordinator of a new run, or of the run whose journal is in this folder.

    UsageError if another coordinator holds the run, the plan is another one, or a bundle that the
    journal names is gone or damaged; JournalBroken if the journal was changed; JournalUnwritable if
    none can be written.

    `alone`: only where no other coordinator of this machine has the run. Otherwise, on a cluster,
    the claim alone decides: a lock could leave the run to a coordinator that nobody reaches.
    `agent`: what workers start, where the plan's is masked; it is not written.
    `observer`: gets every transition that is on disk, those of earlier coordinators first.
    `without_evidence`: go on where bundles are missing; the journal and the report name them.
    """
    with _held(run, alone):
        claim = claim_run(run, chain.segment_claims(run / chain.FOLDER))
        with gc_paused():
            coordinator = Coordinator(
                run, plan, settings, proofs.recorded(run), claim, alone=alone, observer=observer,
                agent=agent, without_evidence=without_evidence,
            )  # fmt: skip
        async with coordinator:
            yield coordinator


def _held(run: Path, alone: bool) -> AbstractContextManager[object]:
    """Make the run's folder, and lock it against a second coordinator."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        return try_lock(run / LOCK) if alone else nullcontext()
    except LockHeld as error:
        raise UsageError(f"{run} is being run by another coordinator: wait for it") from error
    except OSError as error:
        raise UsageError(f"{run} cannot be written: {error.strerror}") from error
