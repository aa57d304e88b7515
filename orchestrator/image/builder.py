"""Where are images made, for whom, by whom, and by one process at a time?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import EmufarmError, UsageError
from ..events.notify import Notify
from ..fleet.docker import images
from ..fleet.docker.containers import KVM
from ..fleet.docker.engine import Engine
from ..locks import wait_lock
from ..pins.code_version import ROOT, git_facts
from ..pins.image_lock import IMAGE_FILE
from ..pins.profile import Profile, images_folder
from . import build_context
from .build_progress import BuildResult, follow
from .cleanup import remember, sweep
from .docker_bake import RESUME_S
from .golden_cache import cache_folder

BASE_VARIABLE, BASE_IMAGE = "EMUFARM_BASE_IMAGE", "debian:bookworm-slim"
WAIT_S = 3600.0  # for another process that makes the same image


@dataclass(frozen=True)
class ImageBuilder:
    """Where images are made."""

    engine: Engine
    notify: Notify
    cache: Path = field(default_factory=cache_folder)
    images: Path = field(default_factory=images_folder)
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
    """The file that says who makes an image of this name; held meanwhile. What the block made and
    did not name is gone where it fails."""
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
        sweep(builder.engine, path)
        try:
            yield path
        except BaseException:
            try:
                sweep(builder.engine, path)
            except EmufarmError as error:  # why the block failed is what must be told
                builder.notify(
                    f"something of it stays on the engine, until the next start: {error}"
                )
            raise


def build_image(
    builder: ImageBuilder,
    what: str,
    files: build_context.Files,
    dockerfile: str,
    args: Mapping[str, str],
    labels: Mapping[str, str],
    lock: Path,
    *,
    fresh: bool = False,
) -> str:
    """What it makes is written down, to be removed unless the caller says that all went well: then
    its stages stay, for the next build to take up."""
    built = BuildResult(on_made=lambda made: remember(lock, made))
    with tempfile.TemporaryFile() as packed:
        build_context.pack(files, packed)
        builder.notify(f"building {what}: {packed.tell() >> 20} MB of files are sent")
        packed.seek(0)
        pieces = images.build(
            builder.engine, packed, dockerfile, args=args, labels=labels, fresh=fresh
        )
        follow(pieces, what, builder.notify, built)
    return built.id


def require_licence(builder: ImageBuilder, profile: Profile) -> None:
    if profile.licence and not builder.accept_licence:
        raise UsageError(
            f"the SDK of {profile.name} comes under {profile.licence}: read it, then accept it "
            f"with `emufarm image bake {profile.name} --accept-licence`"
        )


def require_possible(builder: ImageBuilder, profile: Profile) -> None:
    """Before minutes are spent: what cannot work in the end."""
    require_licence(builder, profile)
    folder = builder.lock_file(profile).parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {folder}: name another folder with EMUFARM_IMAGES")
    if profile.kvm and not Path(KVM).exists():
        raise UsageError(
            f"{profile.name} needs KVM and {KVM} is not found: bake it on a machine that has it"
        )
