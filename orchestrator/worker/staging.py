"""Sealed bundles on their way to the coordinator; a killed worker's wait here for the next one.

attempt/token          the lease it belongs to
attempt/bundle/        being written; whole once its manifest is there
sealed-<ms>/           the same, on its way
sent-<ms>/             on its way out: a worker may be killed while it removes it
refused-<ms>/          not whole: kept for a person, never sent again
.lock                  held by whoever works here
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..coordinator.client import CoordinatorClient, CoordinatorRefused, LeaseLost
from ..errors import EmufarmError
from ..evidence.bundle import wall_ms
from ..evidence.manifest import seal, sealed
from ..locks import LockHeld, wait_lock

HELD_S = 15.0
ATTEMPT, TOKEN, BUNDLE, HELD = "attempt", "token", "bundle", ".lock"


@contextmanager
def held(staging: Path) -> Iterator[None]:
    """One worker at a time; one whose farm was killed needs a moment to go."""
    staging.mkdir(parents=True, exist_ok=True)
    try:
        lock = wait_lock(staging / HELD, HELD_S)
    except LockHeld as error:
        raise EmufarmError(f"another worker stays in {staging}") from error
    with lock:
        yield


def begin(staging: Path, token: str) -> Path:
    """The bundle's folder, not yet there, of a new attempt; an unfinished one before it goes."""
    discard(staging)
    attempt = staging / ATTEMPT
    attempt.mkdir()
    (attempt / TOKEN).write_text(token)
    return attempt / BUNDLE


def discard(staging: Path) -> None:
    attempt = staging / ATTEMPT
    if attempt.exists():
        shutil.rmtree(attempt)


def put_aside(staging: Path) -> Path:
    """Seals the attempt; under its new name it waits until it is sent."""
    seal(staging / ATTEMPT / BUNDLE)
    return _aside(staging)


def _aside(staging: Path) -> Path:
    return (staging / ATTEMPT).rename(staging / f"sealed-{wall_ms()}")


def send(client: CoordinatorClient, waiting: Path) -> None:
    """Durable at the coordinator, then gone from here.

    One that comes too late is stored there and never scored; one that the run cannot keep at all
    is of no use to anybody.
    """
    try:
        client.commit((waiting / TOKEN).read_text(), waiting / BUNDLE)
    except LeaseLost:
        pass  # as said above
    except CoordinatorRefused as error:
        (waiting / "why").write_text(f"{error}\n")
        waiting.rename(waiting.with_name(waiting.name.replace("sealed", "refused")))
        return
    shutil.rmtree(waiting.rename(waiting.with_name(waiting.name.replace("sealed", "sent"))))


def send_sealed(client: CoordinatorClient, staging: Path) -> None:
    """Whatever earlier workers left here, by whoever holds the place."""
    if sealed(staging / ATTEMPT / BUNDLE):
        _aside(staging)
    for waiting in sorted(staging.glob("sealed-*")):
        send(client, waiting)
    for done in staging.glob("sent-*"):
        shutil.rmtree(done)
