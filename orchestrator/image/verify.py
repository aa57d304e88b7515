"""Is the image that the engine has the one that was baked, and does it still start?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..fleet.docker import images
from ..fleet.docker.images import ImageFailed
from ..pins.image_lock import BadLock, ImageLock, read_lock, write_lock
from ..pins.profile import Profile
from . import recipe
from .builder import Shop, held
from .container_bake import Kitchen, prove
from .container_build import Unusable, locked, worker_image
from .container_pins import contents_of, differing, mismatches
from .sweep import labels_of


@dataclass(frozen=True)
class Standing:
    """What there is of a profile's image."""

    profile: str
    tag: str
    image: str  # its id; empty where the engine has none
    size: int
    state: str  # ready, or why it cannot be used


def verify(shop: Shop, profile: Profile) -> ImageLock:
    """ImageFailed names everything that is not as the lock says."""
    with held(shop, profile.name) as lock_file:
        lock = _of_profile(shop, profile)
        assert lock.container is not None
        found = images.image(shop.engine, lock.container.tag)
        if found is None:
            raise ImageFailed(f"the engine has no {lock.container.tag}: bake it")
        wrong = mismatches(lock, found)
        if not wrong:
            held_now = contents_of(shop.engine, found.id, labels_of(lock_file), shop.say)
            wrong = differing(lock, held_now)
        if wrong:
            raise ImageFailed(f"{lock.container.tag} is not what was baked: {'; '.join(wrong)}")
        prove(Kitchen(shop.engine, profile, worker_image(shop), lock_file, shop.say), lock)
        return lock


def push(shop: Shop, profile: Profile, name: str) -> tuple[str, str]:
    """The full name and the digest that it has in the registry, which the lock keeps."""
    with held(shop, profile.name):
        try:
            lock = locked(shop, profile)
        except Unusable as why:
            raise ImageFailed(f"there is no image of {profile.name} to push: {why}") from why
        assert lock.container is not None
        target = f"{name}:{recipe.tag(profile).rpartition(':')[2]}"
        digest = _pushed(shop, lock.container.tag, target)
        pushed = {**lock.container.pushed, target: digest}
        container = replace(lock.container, pushed=pushed)
        write_lock(shop.lock_file(profile), replace(lock, container=container))
        return target, digest


def _pushed(shop: Shop, tag: str, target: str) -> str:
    """Only what was really pushed keeps its second name."""
    digest, said, failed = "", "", ""
    try:
        for piece in images.push(shop.engine, tag, target):
            failed = piece.get("error") or failed  # and read on: see `build_stream.follow`
            digest = (piece.get("aux") or {}).get("Digest") or digest
            if (status := piece.get("status", "")) != said:
                said = status
                shop.say(f"pushing {target}: {status}")
        if failed or not digest:
            why = failed or "the registry told no digest"
            raise ImageFailed(f"{target} was not pushed: {why}")
    except BaseException:
        images.remove(shop.engine, [target])
        raise
    return digest


def standing(shop: Shop, profile: Profile) -> Standing:
    name = recipe.tag(profile)
    found = images.image(shop.engine, name)
    try:
        locked(shop, profile)
        state = "ready"
    except Unusable as why:
        state = str(why)
    return Standing(
        profile.name, name, found.id if found else "", found.size if found else 0, state
    )


def _of_profile(shop: Shop, profile: Profile) -> ImageLock:
    path = shop.lock_file(profile)
    try:
        lock = read_lock(path)
    except BadLock as error:
        why = str(error) if path.exists() else f"there is no {path}"
        raise ImageFailed(f"{profile.name} has no image to verify: {why}") from error
    if lock.container is None:
        raise ImageFailed(f"{path} is not the lock of a container image")
    if lock.profile_digest != profile.digest:
        raise ImageFailed(f"the profile {profile.name} has changed since it was baked: bake it")
    return lock
