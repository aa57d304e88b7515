"""Which container image is a profile's, and how is it made where there is none?

Built from the recipe, baked, proven, and only then named and locked. Whatever fails leaves neither
a name nor anything else on the engine; whoever is killed is swept by the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import __version__
from ..events.canonical import digest
from ..fleet.docker import images
from ..fleet.docker.engine import Engine
from ..pins.files import write_whole
from ..pins.image_lock import BadLock, ImageLock, read_lock, write_lock
from ..pins.profile import Profile
from . import recipe
from .apks import apks
from .builder import Shop, built_image, held, require_licence, require_possible
from .container_bake import Kitchen, bake, prove
from .container_pins import contents_of, mismatches
from .recipe import STAGE_LABEL
from .standin import StandIn, stand_in
from .sweep import image_labels_of, images_of, labels_of, settle, sweep
from .wheelhouse import wheelhouse

FORMAT = 1  # of the image; another one is baked again
WORKER = "_worker"  # no profile's name

Say = Callable[[str], None]


@dataclass(frozen=True)
class DockerImage:
    """A proven image, and the worker image that goes with it."""

    lock: ImageLock
    image: str
    worker_image: str
    tag: str


@dataclass(frozen=True)
class Order:
    """All that one build of a device image is given."""

    profile: Profile
    parts: recipe.Parts
    files: recipe.Files

    @property
    def digest(self) -> str:
        return digest([FORMAT, __version__, self.profile.digest, recipe.files_digest(self.files)])


def ensure(profile: Profile, engine: Engine, say: Say) -> DockerImage:
    """The locked image where the engine has it and nothing it is made of has changed, else a new
    one."""
    shop = Shop(engine, say)
    with held(shop, profile.name) as lock_file:
        placed = order(shop, profile)
        worker = worker_image(shop)
        try:
            lock = locked(shop, profile, placed.digest)
        except Unusable as why:
            require_possible(shop, profile)
            say(f"making the image of {profile.name}: {why}")
            lock = _made(shop, placed, worker, lock_file, fresh=False)
    return _docker_image(lock, worker)


def bake_image(shop: Shop, placed: Order, *, fresh: bool = False) -> DockerImage:
    """A new one, whatever there is; nothing of earlier builds is used where it must be `fresh`."""
    require_possible(shop, placed.profile)
    with held(shop, placed.profile.name) as lock_file:
        worker = worker_image(shop)
        lock = _made(shop, placed, worker, lock_file, fresh=fresh)
    return _docker_image(lock, worker)


def build_only(shop: Shop, placed: Order, *, fresh: bool = False) -> dict[str, object]:
    """What a build comes to, by its hashes; the image has no name, and the next build or bake takes
    it up from the engine's cache."""
    require_licence(shop, placed.profile)
    with held(shop, placed.profile.name) as lock_file:
        id = build(shop, placed, lock_file, {STAGE_LABEL: "built"}, fresh=fresh)
        found = contents_of(shop.engine, id, labels_of(lock_file), shop.say)
        settle(shop.engine, lock_file)
    return {
        "image": id,
        "profile_digest": placed.profile.digest,
        "sdk_sha256": found.sdk_sha256,
        "system_image": asdict(found.system_image),
    }


def build(
    shop: Shop, placed: Order, lock_file: Path, labels: Mapping[str, str], *, fresh: bool = False
) -> str:
    """The id of the built image, which has no name and was never started."""
    profile = placed.profile
    args = recipe.build_args(
        profile,
        placed.parts,
        base_image=shop.base_image,
        revision=shop.revision,
        version=__version__,
        accept_licence=shop.accept_licence,
    )
    what = f"the image of {profile.name}"
    return built_image(
        shop, what, placed.files, recipe.DOCKERFILE, args, labels, lock_file, fresh=fresh
    )


def worker_image(shop: Shop) -> str:
    """The id of the worker image of this code."""
    files = recipe.worker_context(wheelhouse(shop.cache, shop.say))
    name = recipe.worker_tag(files, __version__)
    if found := images.image(shop.engine, name):
        return found.id
    with held(shop, WORKER) as lock_file:
        if found := images.image(shop.engine, name):  # while we waited
            return found.id
        labels = image_labels_of(lock_file)
        args = recipe.worker_build_args(
            files, base_image=shop.base_image, revision=shop.revision, version=__version__
        )
        id = built_image(
            shop, "the worker image", files, recipe.WORKER_DOCKERFILE, args, labels, lock_file
        )
        images.give_tag(shop.engine, id, name)
        settle(shop.engine, lock_file)
        # Each change of the code makes another one; those that a container still has stay.
        for old, old_id in images.named(shop.engine, images_of(lock_file)).items():
            if old_id != id:
                images.remove(shop.engine, [old])
        return id


class Unusable(Exception):
    """There is no image that could be used as it is, and why."""


def locked(shop: Shop, profile: Profile, wanted: str | None = None) -> ImageLock:
    """Of the image that the lock names and the engine has; `wanted` is the order's digest."""
    try:
        lock = read_lock(shop.lock_file(profile))
    except BadLock as error:
        there = shop.lock_file(profile).exists()
        raise Unusable(str(error) if there else "it was never baked here") from error
    if lock.container is None:
        raise Unusable(f"{shop.lock_file(profile)} is not the lock of a container image")
    if lock.profile_digest != profile.digest:
        raise Unusable("the profile has changed since it was baked")
    if wanted is not None and lock.digest != wanted:
        raise Unusable("what it is made of has changed since it was baked")
    found = images.image(shop.engine, lock.container.tag)
    if found is None:
        raise Unusable(f"the engine has no {lock.container.tag}")
    if wrong := mismatches(lock, found):
        raise Unusable("; ".join(wrong))
    return lock


def order(shop: Shop, profile: Profile) -> Order:
    made: StandIn | None = None
    if profile.sdk is not None and profile.sdk.standin:
        folder = shop.cache / "images" / f"{profile.name}.sdk"
        made = stand_in(folder, wheelhouse(shop.cache, shop.say))
    return Order(profile, recipe.parts(profile, made), recipe.context(made))


def _made(shop: Shop, placed: Order, worker: str, lock_file: Path, *, fresh: bool) -> ImageLock:
    profile, engine = placed.profile, shop.engine
    kitchen = Kitchen(engine, profile, worker, lock_file, shop.say, resume_s=shop.resume_s)
    there = apks(profile, shop.cache, shop.say)
    built = build(shop, placed, lock_file, image_labels_of(lock_file), fresh=fresh)
    lock = bake(kitchen, built, placed.digest, there)
    prove(kitchen, lock)
    _name(shop, profile, lock)
    settle(engine, lock_file)
    sweep(engine, lock_file)  # the image that had the name before has none now
    assert lock.container is not None
    shop.say(f"{lock.container.tag} is baked and proven: {lock.container.image}")
    return lock


def _name(shop: Shop, profile: Profile, lock: ImageLock) -> None:
    """The name last: whoever is killed before it leaves a lock that no image is found by, and an
    image that the next one sweeps."""
    assert lock.container is not None
    path = shop.lock_file(profile)
    before = path.read_bytes() if path.exists() else None
    write_lock(path, lock)
    try:
        images.give_tag(shop.engine, lock.container.image, lock.container.tag)
    except BaseException:
        if before is None:
            path.unlink()
        else:
            write_whole(path, [before])
        raise


def _docker_image(lock: ImageLock, worker: str) -> DockerImage:
    assert lock.container is not None
    return DockerImage(lock, lock.container.image, worker, lock.container.tag)
