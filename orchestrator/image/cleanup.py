"""Removes what killed image builds left on the engine; keeps the images that cache the next build.

    <cache>/images/<name>.lock    held by the process that makes the image of this name
                  /<name>.made    image ids of a build under way, or of one that was killed
                  /<name>.kept    image ids of the last complete build, a cache for the next

The holder of a lock owns all that carries the lock's label, so the next holder may remove it.
Images have a label of their own: a container inherits the labels of its image, and may belong to a
run. The stages of a build carry no label, because a label that differs would keep the engine from
taking them from its cache; their ids are recorded in a file instead.
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


def container_labels(lock: Path) -> dict[str, str]:
    """Labels of every container that is made under a lock, and of its volumes."""
    return {BAKE: _key(lock)}


def image_labels(lock: Path) -> dict[str, str]:
    """Labels of every image. A commit would otherwise copy the container's label to its image."""
    return {BAKE: "", MAKER: _key(lock)}


def container_filter(lock: Path) -> str:
    """The engine's label filter for containers and volumes."""
    return f"{BAKE}={_key(lock)}"


def image_filter(lock: Path) -> str:
    """The engine's label filter for images."""
    return f"{MAKER}={_key(lock)}"


def _key(lock: Path) -> str:
    """A hash, because labels are published with an image and must not name this machine's paths."""
    return hashlib.sha256(os.fsencode(lock.absolute())).hexdigest()[:16]


def remove_leftovers(engine: Engine, lock: Path) -> None:
    """Only the holder of the lock may call this: nobody else works under it."""
    for one in containers.find(engine, container_filter(lock)):
        containers.remove(engine, one.id)
    for volume in volumes(engine, container_filter(lock)):  # their container was removed by hand
        remove_volume(engine, volume)
    images.remove(engine, images.untagged(engine, image_filter(lock)))
    _remove_untagged(engine, _read(lock, MADE))
    _record(lock, MADE).unlink(missing_ok=True)


def remove_all_leftovers(engine: Engine, cache: Path) -> None:
    """The leftovers under every lock that no process holds."""
    for lock in sorted((cache / "images").glob("*.lock")):
        try:
            with try_lock(lock):
                remove_leftovers(engine, lock)
        except LockHeld:
            continue


def record_made(lock: Path, made: Sequence[str]) -> None:
    """Record the images of a build under way, in case it is killed."""
    _record(lock, MADE).write_text("\n".join(made))


def keep_made(engine: Engine, lock: Path) -> None:
    """Keep the images of a complete build as a cache for the next; remove those of the build before
    it that it did not use."""
    made, before = _read(lock, MADE), _read(lock, KEPT)
    if made:
        _remove_untagged(engine, [id for id in before if id not in made])
        needed = [id for id in before if images.image(engine, id) is not None]
        _record(lock, KEPT).write_text("\n".join((*needed, *made)))
    _record(lock, MADE).unlink(missing_ok=True)


def _remove_untagged(engine: Engine, ids: Sequence[str]) -> None:
    """Youngest first, because an image builds on those before it."""
    for id in reversed(ids):
        found = images.image(engine, id)
        if found is not None and not found.tags:
            images.remove(engine, [id])


def _read(lock: Path, record: str) -> list[str]:
    path = _record(lock, record)
    return path.read_text().split() if path.exists() else []


def _record(lock: Path, record: str) -> Path:
    return lock.with_suffix(record)
