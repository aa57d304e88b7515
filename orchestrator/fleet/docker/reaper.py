"""Removes what dead runs left on the engine; decides by label and lock whether a run is dead.

containers   removed, running or not
volume       sealed evidence on it is brought to the run's folder first, where there is one
networks     last: no container is in them any more
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ...errors import EmufarmError
from ...events.notify import Notify
from ...locks import LockHeld, try_lock
from . import containers, networks
from .engine import Engine, EngineAway
from .networks import Volume
from .owner import IMAGE, RUN, WORKER, Owner, labelled
from .salvage import bring_home


@dataclass(frozen=True)
class Reaped:
    """The names of the runs."""

    removed: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # unknown whether dead, or not removed; each was notified


def owners(engine: Engine) -> tuple[Owner, ...]:
    """Every run that has an object on the engine."""
    labels = [
        *(one.labels for one in containers.find(engine, RUN)),
        *(one.labels for one in networks.networks(engine, RUN)),
        *(one.labels for one in networks.volumes(engine, RUN)),
    ]
    found = set(map(labelled, labels))
    return tuple(sorted((one for one in found if one), key=lambda one: one.run))


def reap(engine: Engine, notify: Notify) -> Reaped:
    """Removes all that belongs to dead runs. EngineAway where the engine stops answering."""
    removed, alive, left = [], [], []
    for owner in owners(engine):
        try:
            with _lock(owner):
                _require_dead(engine, owner)
                notify(f"removing what the dead run {owner.run} left on the Docker engine")
                clear(engine, owner, notify)
            removed.append(owner.run)
        except LockHeld:
            alive.append(owner.run)
        except EngineAway:
            raise
        except (EmufarmError, OSError) as error:
            notify(f"the run {owner.run} is left alone: {error}")
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
    """EmufarmError where the run may be alive on another machine, or in another container, that
    shares this engine: its lock file is not here, and its workers run. Workers without a
    coordinator end by themselves."""
    if owner.lock.exists():
        return
    workers = (one for one in containers.find(engine, owner.label) if one.name.endswith(WORKER))
    if any(one.state == "running" for one in workers):
        raise EmufarmError(
            f"{owner.lock} is not here and its workers are at work: it may be run from elsewhere"
        )


def clear(engine: Engine, owner: Owner, notify: Notify) -> None:
    """Removes all of one run; the caller holds its lock."""
    clear_pairs(engine, owner, notify)
    for network in networks.networks(engine, owner.label):
        networks.remove_network(engine, network)


def clear_pairs(engine: Engine, owner: Owner, notify: Notify) -> int:
    """Removes all but its networks, through which salvaged evidence may still be sent. Returns how
    many slots had left some."""
    slots = 0
    for container in containers.find(engine, owner.label):
        containers.remove(engine, container.id)
    for volume in networks.volumes(engine, owner.label):
        slots += _salvage(engine, owner, volume, notify)
        networks.remove_volume(engine, volume)
    return slots


def _salvage(engine: Engine, owner: Owner, volume: Volume, notify: Notify) -> int:
    if IMAGE not in volume.labels:
        return 0  # a device's disk
    if not owner.lock.parent.is_dir():
        notify(f"the folder of the run {owner.run} is gone: its evidence on the engine is dropped")
        return 0
    slots = bring_home(engine, owner, volume)
    if slots:
        notify(f"sealed evidence of {slots} slots was brought to {owner.staging}")
    return slots
