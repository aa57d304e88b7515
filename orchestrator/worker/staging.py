"""The staging folder of a worker: writes and seals an attempt's bundle, and sends it.

    attempt/token      the token of its lease
    attempt/bundle/    being written; whole once its manifest is there
    sealed-<ms>/       the same, until the coordinator has stored it
    sent-<ms>/         being removed: a worker may be killed meanwhile
    refused-<ms>/      refused by the coordinator: kept for a person, never sent again
    .lock              held by the worker that uses the folder

What a killed worker sealed is sent by the next one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..coordinator.client import CoordinatorClient, CoordinatorRefused, LeaseLost
from ..errors import EmufarmError
from ..evidence.bundle import wall_ms
from ..evidence.manifest import seal, sealed
from ..locks import FileLock, LockHeld, wait_lock

FOLDER = "staging"  # in a run's folder: a folder for each slot
LOCK_S = 15.0
ATTEMPT, TOKEN, BUNDLE, LOCK = "attempt", "token", "bundle", ".lock"


def lock_staging(staging: Path) -> FileLock:
    """One worker at a time; one whose farm was killed needs a moment to end."""
    staging.mkdir(parents=True, exist_ok=True)
    try:
        return wait_lock(staging / LOCK, LOCK_S)
    except LockHeld as error:
        raise EmufarmError(f"another worker uses {staging}") from error


def begin_attempt(staging: Path, token: str) -> Path:
    """The folder of a new attempt's bundle, not made yet. An unfinished attempt is discarded."""
    discard_attempt(staging)
    attempt = staging / ATTEMPT
    attempt.mkdir()
    (attempt / TOKEN).write_text(token)
    return attempt / BUNDLE


def discard_attempt(staging: Path) -> None:
    attempt = staging / ATTEMPT
    if attempt.exists():
        shutil.rmtree(attempt)


def seal_attempt(staging: Path) -> Path:
    """Seal the bundle, and rename the attempt's folder until it is sent."""
    seal(staging / ATTEMPT / BUNDLE)
    return _renamed(staging)


def _renamed(staging: Path) -> Path:
    return (staging / ATTEMPT).rename(staging / f"sealed-{wall_ms()}")


def send_attempt(client: CoordinatorClient, attempt: Path) -> None:
    """Remove the attempt once the coordinator has stored its bundle, or can never store it."""
    try:
        client.commit((attempt / TOKEN).read_text(), attempt / BUNDLE)
    except LeaseLost:
        pass  # the run cannot keep it: nobody can use it any more
    except CoordinatorRefused as error:
        (attempt / "why").write_text(f"{error}\n")
        attempt.rename(attempt.with_name(attempt.name.replace("sealed", "refused")))
        return
    shutil.rmtree(attempt.rename(attempt.with_name(attempt.name.replace("sealed", "sent"))))


def send_sealed(client: CoordinatorClient, staging: Path) -> None:
    """Send what earlier workers sealed here. The caller holds the folder's lock."""
    if sealed(staging / ATTEMPT / BUNDLE):
        _renamed(staging)
    for attempt in sorted(staging.glob("sealed-*")):
        send_attempt(client, attempt)
    for sent in staging.glob("sent-*"):
        shutil.rmtree(sent)
