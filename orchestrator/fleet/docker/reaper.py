"""What did dead runs leave on the engine, and how does it go? Found by label, never another's.

containers   removed, running or not
volume       what is sealed on it is brought to the run's folder first, where there is one
networks     last: nothing is in them any more
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ...errors import EmufarmError
from ...locks import LockHeld, try_lock
from . import containers, networks
from .engine import Engine, EngineAway
from .networks import Volume
from .owner import IMAGE, RUN, WORKER, Owner, labelled
from .salvage import bring_home

Say = Callable[[str], None]


@dataclass(frozen=True)
class Reaped:
    """By the names of their runs."""

    removed: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # nobody can tell, or it did not go; each was said


def owners(engine: Engine) -> tuple[Owner, ...]:
    """Every run that has anything here."""
    labels = [
        *(one.labels for one in containers.find(engine, RUN)),
        *(one.labels for one in networks.networks(engine, RUN)),
        *(one.labels for one in networks.volumes(engine, RUN)),
    ]
    found = set(map(labelled, labels))
    return tuple(sorted((one for one in found if one), key=lambda one: one.run))


def reap(engine: Engine, say: Say) -> Reaped:
    """Removes all that belongs to dead runs, and says what it does; EngineAway ends it."""
    removed, alive, left = [], [], []
    for owner in owners(engine):
        try:
            with _lock(owner):
                _require_dead(engine, owner)
                say(f"removing what the dead run {owner.run} left on the Docker engine")
                clear(engine, owner, say)
            removed.append(owner.run)
        except LockHeld:
            alive.append(owner.run)
        except EngineAway:
            raise
        except (EmufarmError, OSError) as error:
            say(f"left alone, of the run {owner.run}: {error}")
            left.append(owner.run)
    return Reaped(tuple(removed), tuple(alive), tuple(left))


def _lock(owner: Owner) -> AbstractContextManager[object]:
    """The lock of a dead run, so that nobody resumes it meanwhile. LockHeld where the run is alive,
    OSError where that is unknown. A file that is gone has no holder."""
    try:
        return try_lock(owner.lock, create=False)
    except (FileNotFoundError, NotADirectoryError):
        return nullcontext()


def _require_dead(engine: Engine, owner: Owner) -> None:
    """A lock file that is not here may be another machine's, or another container's, that shares
    this engine. Workers without a coordinator end by themselves; one at work has one."""
    if owner.lock.exists():
        return
    workers = (one for one in containers.find(engine, owner.label) if one.name.endswith(WORKER))
    if any(one.state == "running" for one in workers):
        raise EmufarmError(
            f"{owner.lock} is not here and its workers are at work: it may be run from elsewhere"
        )


def clear(engine: Engine, owner: Owner, say: Say) -> None:
    """All of one run, by somebody who holds its lock."""
    clear_pairs(engine, owner, say)
    for network in networks.networks(engine, owner.label):
        networks.remove_network(engine, network)


def clear_pairs(engine: Engine, owner: Owner, say: Say) -> int:
    """All but its networks, through which what is salvaged may still have to be sent: how many
    slots had left something."""
    slots = 0
    for container in containers.find(engine, owner.label):
        containers.remove(engine, container.id)
    for volume in networks.volumes(engine, owner.label):
        slots += _salvage(engine, owner, volume, say)
        networks.remove_volume(engine, volume)
    return slots


def _salvage(engine: Engine, owner: Owner, volume: Volume, say: Say) -> int:
    if IMAGE not in volume.labels:
        return 0  # a device's own disk
    if not owner.lock.parent.is_dir():
        say(f"the folder of the run {owner.run} is gone, and with it the use of its evidence")
        return 0
    slots = bring_home(engine, owner, volume)
    if slots:
        say(f"sealed evidence of {slots} slots was brought to {owner.staging}")
    return slots
