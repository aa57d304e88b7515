"""The Docker images of a profile and of the worker: found by lock or tag, or made.

A device image is built, baked and proven before it gets its lock and its tag. A failure leaves
nothing on the engine; the next build removes what a killed one left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import __version__
from ..events.canonical import digest
from ..events.notify import Notify
from ..files import write_atomically
from ..fleet.docker import images
from ..fleet.docker.engine import Engine
from ..pins.image_lock import BadLock, ImageLock, read_lock, write_lock
from ..pins.profile import Profile
from . import build_context
from .apks import apks
from .build_context import STAGE_LABEL
from .builder import ImageBuilder, build_image, build_lock, require_licence, require_possible
from .cleanup import container_labels, image_filter, image_labels, keep_made, remove_leftovers
from .docker_bake import DockerBaker, bake, prove
from .docker_check import contents_of, mismatches
from .simphone import StandInSdk, simphone
from .wheelhouse import wheelhouse

FORMAT = 1  # of the image; an image of another format is baked again
WORKER = "_worker"  # the worker image's build lock; no profile can have this name


@dataclass(frozen=True)
class DockerImage:
    """A proven image, and the worker image that goes with it."""

    lock: ImageLock
    worker_image: str

    @property
    def image(self) -> str:
        assert self.lock.container is not None
        return self.lock.container.image

    @property
    def tag(self) -> str:
        assert self.lock.container is not None
        return self.lock.container.tag


@dataclass(frozen=True)
class BuildInputs:
    """Everything that a device image is built from."""

    profile: Profile
    parts: build_context.SdkParts
    files: build_context.ContextFiles

    @property
    def digest(self) -> str:
        return digest(
            [FORMAT, __version__, self.profile.digest, build_context.files_digest(self.files)]
        )


def ensure_image(profile: Profile, engine: Engine, notify: Notify) -> DockerImage:
    """The locked image where the engine has it and its inputs have not changed, else a new one."""
    builder = ImageBuilder(engine, notify)
    with build_lock(builder, profile.name) as lock_file:
        inputs = build_inputs(builder, profile)
        worker = worker_image(builder)
        try:
            lock = usable_lock(builder, profile, inputs.digest)
        except ImageUnusable as why:
            require_possible(builder, profile)
            notify(f"making the image of {profile.name}: {why}")
            lock = _make(builder, inputs, worker, lock_file, fresh=False)
    return DockerImage(lock, worker)


def bake_image(builder: ImageBuilder, inputs: BuildInputs, *, fresh: bool = False) -> DockerImage:
    """A new image, always. A `fresh` one uses no cache of earlier builds."""
    require_possible(builder, inputs.profile)
    with build_lock(builder, inputs.profile.name) as lock_file:
        worker = worker_image(builder)
        lock = _make(builder, inputs, worker, lock_file, fresh=fresh)
    return DockerImage(lock, worker)


def build_only(
    builder: ImageBuilder, inputs: BuildInputs, *, fresh: bool = False
) -> dict[str, object]:
    """Build without a bake, and return the hashes. The image gets no tag; the next build or bake
    finds it in the engine's cache."""
    require_licence(builder, inputs.profile)
    with build_lock(builder, inputs.profile.name) as lock_file:
        id = build(builder, inputs, lock_file, {STAGE_LABEL: "built"}, fresh=fresh)
        found = contents_of(builder.engine, id, container_labels(lock_file), builder.notify)
        keep_made(builder.engine, lock_file)
    return {
        "image": id,
        "profile_digest": inputs.profile.digest,
        "sdk_sha256": found.sdk_sha256,
        "system_image": asdict(found.system_image),
    }


def build(
    builder: ImageBuilder,
    inputs: BuildInputs,
    lock_file: Path,
    labels: Mapping[str, str],
    *,
    fresh: bool = False,
) -> str:
    """The id of the built image, which has no tag and was never started."""
    profile = inputs.profile
    args = build_context.build_args(
        profile,
        inputs.parts,
        base_image=builder.base_image,
        revision=builder.revision,
        version=__version__,
        accept_licence=builder.accept_licence,
    )
    what = f"the image of {profile.name}"
    return build_image(
        builder, what, inputs.files, build_context.DOCKERFILE, args, labels, lock_file, fresh=fresh
    )


def worker_image(builder: ImageBuilder) -> str:
    """The id of the worker image for this code."""
    files = build_context.worker_context(wheelhouse(builder.cache, builder.notify))
    name = build_context.worker_tag(files, __version__)
    if found := images.image(builder.engine, name):
        return found.id
    with build_lock(builder, WORKER) as lock_file:
        if found := images.image(builder.engine, name):  # made while this process waited
            return found.id
        what, dockerfile = "the worker image", build_context.WORKER_DOCKERFILE
        args = build_context.worker_build_args(
            files, base_image=builder.base_image, revision=builder.revision, version=__version__
        )
        labels = image_labels(lock_file)
        id = build_image(builder, what, files, dockerfile, args, labels, lock_file)
        images.give_tag(builder.engine, id, name)
        keep_made(builder.engine, lock_file)
        # Every change of the code makes another image; one that a container uses stays.
        for old, old_id in images.named(builder.engine, image_filter(lock_file)).items():
            if old_id != id:
                images.remove(builder.engine, [old])
        return id


class ImageUnusable(Exception):
    """The profile has no image that can be used as it is; the message says why."""


def usable_lock(builder: ImageBuilder, profile: Profile, wanted: str | None = None) -> ImageLock:
    """The lock of an image that the engine has. `wanted` is the digest of the build inputs."""
    try:
        lock = read_lock(builder.lock_file(profile))
    except BadLock as error:
        there = builder.lock_file(profile).exists()
        raise ImageUnusable(str(error) if there else "it was never baked here") from error
    if lock.container is None:
        raise ImageUnusable(f"{builder.lock_file(profile)} is not the lock of a container image")
    if lock.profile_digest != profile.digest:
        raise ImageUnusable("the profile has changed since it was baked")
    if wanted is not None and lock.digest != wanted:
        raise ImageUnusable("what it is made of has changed since it was baked")
    found = images.image(builder.engine, lock.container.tag)
    if found is None:
        raise ImageUnusable(f"the engine has no {lock.container.tag}")
    if wrong := mismatches(lock, found):
        raise ImageUnusable("; ".join(wrong))
    return lock


def build_inputs(builder: ImageBuilder, profile: Profile) -> BuildInputs:
    made: StandInSdk | None = None
    if profile.sdk is not None and profile.sdk.standin:
        folder = builder.cache / "images" / f"{profile.name}.sdk"
        made = simphone().pack_sdk(folder, wheelhouse(builder.cache, builder.notify))
    return BuildInputs(profile, build_context.parts(profile, made), build_context.context(made))


def _make(
    builder: ImageBuilder, inputs: BuildInputs, worker: str, lock_file: Path, *, fresh: bool
) -> ImageLock:
    profile, engine = inputs.profile, builder.engine
    baker = DockerBaker(
        engine, profile, worker, lock_file, builder.notify, resume_s=builder.resume_s
    )
    files = apks(profile, builder.cache, builder.notify)
    built = build(builder, inputs, lock_file, image_labels(lock_file), fresh=fresh)
    lock = bake(baker, built, inputs.digest, files)
    prove(baker, lock)
    _lock_and_tag(builder, profile, lock)
    keep_made(engine, lock_file)
    remove_leftovers(engine, lock_file)  # such as the image that had the tag before
    assert lock.container is not None
    builder.notify(f"{lock.container.tag} is baked and proven: {lock.container.image}")
    return lock


def _lock_and_tag(builder: ImageBuilder, profile: Profile, lock: ImageLock) -> None:
    """The tag comes last: a process killed before it leaves a lock that no image matches, and an
    image that the next build removes."""
    assert lock.container is not None
    path = builder.lock_file(profile)
    before = path.read_bytes() if path.exists() else None
    write_lock(path, lock)
    try:
        images.give_tag(builder.engine, lock.container.image, lock.container.tag)
    except BaseException:
        if before is None:
            path.unlink()
        else:
            write_atomically(path, [before])
        raise
