"""Is an image on the engine the one that its lock names? By its id, its labels, and what is in it.

Labels are what a registry or a cluster can read without starting anything, so they must not lie.
What is in an image is asked by our own code, in a container of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..events.notify import Notify
from ..fleet.docker.containers import ContainerLimits, ContainerSpec
from ..fleet.docker.engine import Engine
from ..fleet.docker.images import Image, ImageFailed
from ..pins.image_contents import SOURCES, ImageContents, parse_contents
from ..pins.image_lock import ImageLock
from .docker_job import FOLDER, GIVEN, running, wait_for_end

PROFILE_LABEL = "emufarm.profile.digest"  # Dockerfile.emulator sets it; the rest a commit does
RECIPE_LABEL, RELOCATABLE_LABEL = "emufarm.system-image.recipe", "emufarm.system-image.relocatable"
TREE_LABEL = "emufarm.sdk.tree"  # over every file of the unpacked SDK
HASH_S = 900.0
_LIMITS = ContainerLimits(cpus=2.0, memory_mb=512, pids=128)
_PACKAGE = Path(__file__).resolve().parents[1]


def content_labels(system_image: Mapping[str, Any], sdk: Mapping[str, Any]) -> dict[str, str]:
    """From what the build wrote into the image."""
    return {
        RECIPE_LABEL: str(system_image["recipe_sha256"]),
        RELOCATABLE_LABEL: str(system_image["relocatable_sha256"]),
        TREE_LABEL: str(sdk["tree_sha256"]),
    }


def locked_labels(lock: ImageLock) -> dict[str, str]:
    """What an image must say of itself."""
    assert lock.container is not None
    return {
        PROFILE_LABEL: lock.profile_digest,
        RECIPE_LABEL: lock.system_image.recipe_sha256,
        RELOCATABLE_LABEL: lock.system_image.relocatable_sha256,
        TREE_LABEL: lock.container.sdk_sha256,
    }


def mismatches(lock: ImageLock, found: Image) -> list[str]:
    """One sentence for each thing that differs, with both values."""
    assert lock.container is not None
    wrong = []
    if found.id != lock.container.image:
        wrong.append(f"the image is {found.id}, locked is {lock.container.image}")
    for name, locked in locked_labels(lock).items():
        said = found.labels.get(name)
        if said != locked:
            wrong.append(f"its label {name} says {said or 'nothing'}, locked is {locked}")
    return wrong


def differing(lock: ImageLock, held: ImageContents) -> list[str]:
    """One sentence for each hash that differs, with both values."""
    assert lock.container is not None
    pairs = {
        "the system image": (held.system_image, lock.system_image),
        "the SDK": (held.sdk_sha256, lock.container.sdk_sha256),
        "config.ini": (held.config_ini, lock.config_ini),
        "the AVD": (held.avd, lock.avd),
    }
    for tag in sorted({*held.snapshots, *lock.container.snapshots}):
        found, baked = held.snapshots.get(tag), lock.container.snapshots.get(tag)
        pairs[f"the snapshot {tag}"] = (found or "missing", baked or "missing")
    return [
        f"{name} is {found}, locked is {baked}"
        for name, (found, baked) in pairs.items()
        if found != baked
    ]


def contents_of(
    engine: Engine, image: str, labels: Mapping[str, str], notify: Notify
) -> ImageContents:
    notify("hashing what is in the image")
    package = _PACKAGE.name
    spec = ContainerSpec(
        name=f"emufarm-bake-contents-{secrets.token_hex(4)}",
        image=image,
        entrypoint=("python3",),
        # -P: not what lies in the image's working folder under the same name.
        command=("-P", "-B", "-m", f"{package}.pins.image_contents"),
        labels=labels,
        network="none",
        limits=_LIMITS,
        env={"PYTHONPATH": FOLDER},
        mounts=(GIVEN,),
    )
    code = {f"{package}/{name}": _PACKAGE / name for name in SOURCES}
    with running(engine, spec, code) as id:
        ended = wait_for_end(engine, id, "hashing", HASH_S, notify)
    if ended is None:
        raise ImageFailed(f"hashing the image took more than {HASH_S:g} s")
    if ended.code != 0:
        raise ImageFailed(f"what is in the image cannot be hashed: {ended.why}")
    try:
        return parse_contents(ended.printed)
    except ValueError as error:
        raise ImageFailed(f"the image answers {ended.printed[:200]!r}: {error}") from error
