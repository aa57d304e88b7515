"""Verifies, pushes and describes the baked Docker image of a profile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..fleet.docker import images
from ..fleet.docker.images import ImageFailed
from ..pins.image_lock import BadLock, ImageLock, read_lock, write_lock
from ..pins.profile import Profile
from . import build_context
from .builder import ImageBuilder, build_lock
from .cleanup import container_labels
from .docker_bake import DockerBaker, prove
from .docker_check import contents_of, differing, mismatches
from .docker_image import ImageUnusable, usable_lock, worker_image


@dataclass(frozen=True)
class PushedImage:
    """An image in a registry."""

    name: str  # with its tag
    digest: str  # as the registry has it


@dataclass(frozen=True)
class ImageStatus:
    """What the engine has of a profile's image."""

    profile: str
    tag: str
    image: str  # its id; empty where the engine has none
    size: int
    state: str  # ready, or why it cannot be used


def verify(builder: ImageBuilder, profile: Profile) -> ImageLock:
    """Check the image against its lock, and that it starts as baked; ImageFailed if not."""
    with build_lock(builder, profile.name) as lock_file:
        lock = _read_lock(builder, profile)
        assert lock.container is not None
        found = images.image(builder.engine, lock.container.tag)
        if found is None:
            raise ImageFailed(f"the engine has no {lock.container.tag}: bake it")
        wrong = mismatches(lock, found)
        if not wrong:
            labels = container_labels(lock_file)
            wrong = differing(lock, contents_of(builder.engine, found.id, labels, builder.notify))
        if wrong:
            raise ImageFailed(f"{lock.container.tag} is not what was baked: {'; '.join(wrong)}")
        prove(
            DockerBaker(builder.engine, profile, worker_image(builder), lock_file, builder.notify),
            lock,
        )
        return lock


def push(builder: ImageBuilder, profile: Profile, name: str) -> tuple[PushedImage, PushedImage]:
    """Push the image and, as NAME-worker, the worker image of this code: a cluster needs both.
    The lock then has the digests of this pair, and of no earlier one."""
    with build_lock(builder, profile.name):
        try:
            lock = usable_lock(builder, profile)
        except ImageUnusable as why:
            raise ImageFailed(f"there is no image of {profile.name} to push: {why}") from why
        assert lock.container is not None
        worker = images.image(builder.engine, worker_image(builder))
        assert worker is not None
        assert worker.tags
        device = _push(builder, lock.container.tag, f"{name}:{_tag(build_context.tag(profile))}")
        worker_pushed = _push(builder, worker.tags[0], f"{name}-worker:{_tag(worker.tags[0])}")
        write_lock(builder.lock_file(profile), pushed_lock(lock, device, worker_pushed))
        return device, worker_pushed


def pushed_lock(lock: ImageLock, device: PushedImage, worker: PushedImage) -> ImageLock:
    """The lock with this pair alone: a cluster runs what was pushed last, and no file says which of
    several that was."""
    assert lock.container is not None
    container = replace(
        lock.container,
        pushed={device.name: device.digest},
        worker_pushed={worker.name: worker.digest},
    )
    return replace(lock, container=container)


def _tag(name: str) -> str:
    return name.rpartition(":")[2]


def _push(builder: ImageBuilder, tag: str, target: str) -> PushedImage:
    """The tag for the push is removed where it fails."""
    digest, last, failed = "", "", ""
    try:
        for piece in images.push(builder.engine, tag, target):
            failed = piece.get("error") or failed  # and read on, as `build_progress.follow` does
            digest = (piece.get("aux") or {}).get("Digest") or digest
            if (status := piece.get("status", "")) != last:
                last = status
                builder.notify(f"pushing {target}: {status}")
        if failed or not digest:
            why = failed or "the registry gave no digest"
            raise ImageFailed(f"{target} was not pushed: {why}")
    except BaseException:
        images.remove(builder.engine, [target])
        raise
    return PushedImage(target, digest)


def image_status(builder: ImageBuilder, profile: Profile) -> ImageStatus:
    name = build_context.tag(profile)
    found = images.image(builder.engine, name)
    try:
        usable_lock(builder, profile)
        state = "ready"
    except ImageUnusable as why:
        state = str(why)
    return ImageStatus(
        profile.name, name, found.id if found else "", found.size if found else 0, state
    )


def _read_lock(builder: ImageBuilder, profile: Profile) -> ImageLock:
    path = builder.lock_file(profile)
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
