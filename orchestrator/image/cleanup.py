"""What did a build or bake leave behind that was killed? Found by label, or by what it wrote down.

    <cache>/images/<name>.lock    held by whoever makes the image of this name
                  /<name>.made    images of a build under way, or of one that was killed
                  /<name>.kept    those of the last whole one, which the next can take up

Whoever holds the lock owns what carries its label, so the next one under it sweeps. The label of
images is another one: a container has the labels of its image too, and may be a run's. The stages
of a build carry none, or no later build could take them up: what a build makes is written down.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from ..fleet.docker import containers, images
from ..fleet.docker.engine import Engine
from ..fleet.docker.networks import remove_volume, volumes
from ..locks import LockHeld, try_lock

BAKE, MAKER = "emufarm.bake", "emufarm.maker"  # of containers and volumes; of images
MADE, KEPT = ".made", ".kept"


def labels_of(lock: Path) -> dict[str, str]:
    """Of every container that is made under a lock, and its volumes."""
    return {BAKE: _key(lock)}


def image_labels_of(lock: Path) -> dict[str, str]:
    """Of every image; what is committed would else keep its container's."""
    return {BAKE: "", MAKER: _key(lock)}


def work_of(lock: Path) -> str:
    """What finds the containers and volumes."""
    return f"{BAKE}={_key(lock)}"


def images_of(lock: Path) -> str:
    """What finds the images."""
    return f"{MAKER}={_key(lock)}"


def _key(lock: Path) -> str:
    """Its path is nobody's business but this machine's."""
    return hashlib.sha256(os.fsencode(lock.absolute())).hexdigest()[:16]


def sweep(engine: Engine, lock: Path) -> None:
    """By whoever holds the lock: nobody else works under it."""
    for one in containers.find(engine, work_of(lock)):
        containers.remove(engine, one.id)
    for volume in volumes(engine, work_of(lock)):  # of a container that another hand removed
        remove_volume(engine, volume)
    images.remove(engine, images.untagged(engine, images_of(lock)))
    forget(engine, lock)


def sweep_all(engine: Engine, cache: Path) -> None:
    """Whatever nobody works on now."""
    for lock in sorted((cache / "images").glob("*.lock")):
        try:
            with try_lock(lock):
                sweep(engine, lock)
        except LockHeld:
            continue


def remember(lock: Path, made: Sequence[str]) -> None:
    """That a build made these, should it never get to say so itself."""
    _record(lock, MADE).write_text("\n".join(made))


def forget(engine: Engine, lock: Path) -> None:
    """A build came to nothing: what it made goes."""
    _remove_nameless(engine, _read(lock, MADE))
    _record(lock, MADE).unlink(missing_ok=True)


def settle(engine: Engine, lock: Path) -> None:
    """A build is whole: what it made stays, for the next to take up, in place of what the one
    before it made and it did not need."""
    made, before = _read(lock, MADE), _read(lock, KEPT)
    if made:
        _remove_nameless(engine, [id for id in before if id not in made])
        needed = [id for id in before if images.image(engine, id) is not None]
        _record(lock, KEPT).write_text("\n".join((*needed, *made)))
    _record(lock, MADE).unlink(missing_ok=True)


def _remove_nameless(engine: Engine, ids: Sequence[str]) -> None:
    """The youngest first, for they stand on others."""
    for id in reversed(ids):
        found = images.image(engine, id)
        if found is not None and not found.tags:
            images.remove(engine, [id])


def _read(lock: Path, record: str) -> list[str]:
    path = _record(lock, record)
    return path.read_text().split() if path.exists() else []


def _record(lock: Path, record: str) -> Path:
    return lock.with_suffix(record)
