"""The builder of container images: the engine and folders it uses, one build of a name at a time.

<cache>/images/<name>.lock           held by the process that makes the image of this name
<images>/<profile>/image.lock.json   the lock of the profile's proven image
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import EmufarmError, UsageError
from ..events.notify import Notify
from ..fleet.docker import images
from ..fleet.docker.containers import KVM
from ..fleet.docker.engine import Engine
from ..folders import CHECKOUT, ROOT, cache_folder
from ..locks import wait_lock
from ..pins.code_version import git_facts
from ..pins.image_lock import IMAGE_FILE
from ..pins.profile import IMAGES_VARIABLE, Profile, images_folder
from . import build_context
from .build_progress import BuildResult, follow
from .cleanup import record_made, remove_leftovers
from .docker_bake import RESUME_S

BASE_VARIABLE, BASE_IMAGE = "EMUFARM_BASE_IMAGE", "debian:bookworm-slim"
WAIT_S = 3600.0  # for another process that makes the same image


def lock_folder() -> Path:
    """Beside the profiles, but never in an installed package, which is not ours to change."""
    own = CHECKOUT or IMAGES_VARIABLE in os.environ
    return images_folder() if own else cache_folder() / "image-locks"


@dataclass(frozen=True)
class ImageBuilder:
    """An engine to build images on, the folders that builds use, and how they are built."""

    engine: Engine
    notify: Notify
    cache: Path = field(default_factory=cache_folder)
    images: Path = field(default_factory=lock_folder)
    base_image: str = field(default_factory=lambda: os.environ.get(BASE_VARIABLE) or BASE_IMAGE)
    accept_licence: bool = False
    resume_s: float = RESUME_S

    def lock_file(self, profile: Profile) -> Path:
        return self.images / profile.name / IMAGE_FILE

    @property
    def revision(self) -> str:
        commit = git_facts(ROOT)["commit"]
        return commit if isinstance(commit, str) else "unknown"


@contextmanager
def build_lock(builder: ImageBuilder, name: str) -> Iterator[Path]:
    """Hold the lock for images of this name and yield its file. Where the block fails, what it made
    and did not tag is removed."""
    folder = builder.cache / "images"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.lock"
        path.touch()
    except OSError as error:
        raise UsageError(f"cannot keep images in {folder}: {error}") from error
    with wait_lock(
        path, WAIT_S, lambda: builder.notify("waiting for another emufarm that makes this image")
    ):
        remove_leftovers(builder.engine, path)
        try:
            yield path
        except BaseException:
            try:
                remove_leftovers(builder.engine, path)
            except EmufarmError as error:  # the block's own error is the one to raise
                builder.notify(f"some of it stays on the engine until the next start: {error}")
            raise


def build_image(
    builder: ImageBuilder,
    what: str,
    files: build_context.ContextFiles,
    dockerfile: str,
    args: Mapping[str, str],
    labels: Mapping[str, str],
    lock: Path,
    *,
    fresh: bool = False,
) -> str:
    """Build an image and return its id. The lock records every image that the build makes; they are
    removed as leftovers unless the caller keeps them to cache the next build (`keep_made`)."""
    result = BuildResult(on_made=lambda made: record_made(lock, made))
    with tempfile.TemporaryFile() as packed:
        build_context.pack(files, packed)
        builder.notify(f"building {what}: sending {packed.tell() >> 20} MB of files")
        packed.seek(0)
        pieces = images.build(
            builder.engine, packed, dockerfile, args=args, labels=labels, fresh=fresh
        )
        follow(pieces, what, builder.notify, result)
    return result.id


def require_licence(builder: ImageBuilder, profile: Profile) -> None:
    if profile.licence and not builder.accept_licence:
        raise UsageError(
            f"the SDK of {profile.name} comes under {profile.licence}: read it, then accept it "
            f"with `emufarm image bake {profile.name} --accept-licence`"
        )


def require_possible(builder: ImageBuilder, profile: Profile) -> None:
    """UsageError for what would fail after minutes of work: licence, lock folder, KVM."""
    require_licence(builder, profile)
    folder = builder.lock_file(profile).parent
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {folder}: name another folder with {IMAGES_VARIABLE}")
    if profile.kvm and not Path(KVM).exists():
        raise UsageError(
            f"{profile.name} needs KVM and {KVM} is not found: bake it on a machine that has it"
        )
