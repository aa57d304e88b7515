"""The cache of golden AVDs: each is baked once per digest and verified at every use.

    <cache>/golden/<digest>/avd/               what devices are copied from; never run itself
                           /golden.lock.json   pins/image_lock.py
                           /MANIFEST.json      every file's digest, written last
    <cache>/golden/.<digest>.lock              held by the process that verifies or bakes
                  /.<digest>.new/              a bake in progress, or one that was killed

One rename gives an image its name, after its proof, so that a killed bake leaves nothing that could
be taken for an image.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..errors import EmufarmError, UsageError
from ..events.canonical import digest
from ..events.notify import Notify
from ..files import read_json, tree, write_json
from ..fleet.local.device import Golden
from ..folders import CACHE_VARIABLE
from ..locks import LockHeld, try_lock, wait_lock
from ..pins.image_lock import FILE as LOCK
from ..pins.image_lock import BadLock, ImageLock, read_lock, write_lock
from ..pins.profile import Profile
from .golden_bake import AVD, GoldenBaker, bake

MANIFEST = "MANIFEST.json"
FORMAT = 2  # of the image; an image of another format is baked again
WAIT_S = 900.0  # for another process that bakes the same image

CreateAvd = Callable[[Path, str, Mapping[str, str]], object]  # home, name, config.ini's keys


@dataclass(frozen=True)
class GoldenRecipe:
    """Everything that a golden AVD is made from."""

    profile: Profile
    program: str  # a digest that changes with the emulator
    baker: GoldenBaker
    create_avd: CreateAvd

    @property
    def digest(self) -> str:
        return digest([FORMAT, __version__, self.profile.digest, self.program])


@dataclass(frozen=True)
class GoldenImage:
    """A verified golden AVD and its lock."""

    golden: Golden
    lock: ImageLock


class _BrokenImage(Exception):
    """The folder is no image, or no longer the one that was baked."""


def golden_image(recipe: GoldenRecipe, cache: Path, notify: Notify) -> GoldenImage:
    """The cached image, or a new one. `notify` gets a line before anything that takes a while."""
    folder, name = cache / "golden", recipe.digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        waiting = "waiting for another emufarm that is baking this image"
        with wait_lock(folder / f".{name}.lock", WAIT_S, lambda: notify(waiting)):
            try:
                return _verified(folder / name, name)
            except _BrokenImage as why:
                if (folder / name).exists():
                    notify(f"the cached image {name[:12]} is broken ({why}): baking it again")
                    shutil.rmtree(folder / name)
            notify(f"baking the image of {recipe.profile.name}, once: {name[:12]}")
            _remove_killed_bakes(folder, name)
            _make(recipe, folder / f".{name}.new", folder / name)
            return _verified(folder / name, name)
    except OSError as error:
        raise UsageError(
            f"cannot keep images in {folder}: {error}; name another folder with {CACHE_VARIABLE}"
        ) from error
    except _BrokenImage as error:
        raise EmufarmError(
            f"the image {name[:12]} is broken just after its bake: {error}"
        ) from error


def _verified(place: Path, name: str) -> GoldenImage:
    """_BrokenImage unless the files are exactly those that were baked."""
    try:
        baked = read_json(place / MANIFEST)
        lock = read_lock(place / LOCK)
        there = tree(place, lambda path: path != MANIFEST)
    except (OSError, ValueError, BadLock) as error:
        raise _BrokenImage(str(error)) from error
    if there != baked:
        # The file may hold any JSON; what is no manifest is unequal.
        wrong = sorted(set(there.items()) ^ set(baked.items() if isinstance(baked, dict) else ()))
        raise _BrokenImage(f"{wrong[0][0] if wrong else MANIFEST} is not what was baked")
    if lock.digest != name:
        raise _BrokenImage(f"its lock is that of {lock.digest[:12]}")
    return GoldenImage(Golden(place / "avd", lock.avd, lock.snapshot), lock)


def _make(recipe: GoldenRecipe, temporary: Path, place: Path) -> None:
    image, empty = temporary / "image", temporary / "empty"
    try:
        image.mkdir(parents=True)
        recipe.create_avd(empty, AVD, recipe.profile.avd)
        lock = bake(recipe.baker, recipe.profile, empty, image / "avd", recipe.digest)
        write_lock(image / LOCK, lock)
        write_json(image / MANIFEST, tree(image))
        image.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # the next bake removes what stays


def _remove_killed_bakes(folder: Path, name: str) -> None:
    """A bake that is still running holds its lock."""
    shutil.rmtree(folder / f".{name}.new", ignore_errors=True)
    for left in folder.glob(".*.new"):
        try:
            with try_lock(left.with_suffix(".lock")):
                shutil.rmtree(left, ignore_errors=True)
        except LockHeld:
            continue
