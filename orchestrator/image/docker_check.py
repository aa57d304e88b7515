"""Checks an image on the engine against its lock: its id, its labels, and hashes of its contents.

A registry or a cluster reads the labels without starting the image, so they must agree with its
contents. Our own code, run in a container of the image, hashes the contents.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ..events.notify import Notify
from ..fleet.container_layout import GIVEN_FOLDER
from ..fleet.docker.containers import ContainerLimits, ContainerSpec
from ..fleet.docker.engine import Engine
from ..fleet.docker.images import Image, ImageFailed
from ..folders import PACKAGE
from ..pins.image_contents import SOURCES, ImageContents, parse_contents
from ..pins.image_lock import ImageLock
from .docker_job import GIVEN, running, wait_for_end

PROFILE_LABEL = "emufarm.profile.digest"  # set by Dockerfile.emulator; the others by the commit
RECIPE_LABEL, RELOCATABLE_LABEL = "emufarm.system-image.recipe", "emufarm.system-image.relocatable"
TREE_LABEL = "emufarm.sdk.tree"  # over every file of the unpacked SDK
HASH_S = 900.0
_LIMITS = ContainerLimits(cpus=2.0, memory_mb=512, pids=128)


def content_labels(system_image: Mapping[str, Any], sdk: Mapping[str, Any]) -> dict[str, str]:
    """The labels for what the build recorded in the image."""
    return {
        RECIPE_LABEL: str(system_image["recipe_sha256"]),
        RELOCATABLE_LABEL: str(system_image["relocatable_sha256"]),
        TREE_LABEL: str(sdk["tree_sha256"]),
    }


def locked_labels(lock: ImageLock) -> dict[str, str]:
    """The labels that the image must have."""
    assert lock.container is not None
    return {
        PROFILE_LABEL: lock.profile_digest,
        RECIPE_LABEL: lock.system_image.recipe_sha256,
        RELOCATABLE_LABEL: lock.system_image.relocatable_sha256,
        TREE_LABEL: lock.container.sdk_sha256,
    }


def mismatches(lock: ImageLock, found: Image) -> list[str]:
    """One sentence with both values for the id and for each label that differs."""
    assert lock.container is not None
    wrong = []
    if found.id != lock.container.image:
        wrong.append(f"the image is {found.id}, locked is {lock.container.image}")
    for name, locked in locked_labels(lock).items():
        label = found.labels.get(name)
        if label != locked:
            wrong.append(f"its label {name} is {label or 'missing'}, locked is {locked}")
    return wrong


def differing(lock: ImageLock, contents: ImageContents) -> list[str]:
    """One sentence with both values for each hash that differs."""
    assert lock.container is not None
    pairs = {
        "the system image": (contents.system_image, lock.system_image),
        "the SDK": (contents.sdk_sha256, lock.container.sdk_sha256),
        "config.ini": (contents.config_ini, lock.config_ini),
        "the AVD": (contents.avd, lock.avd),
    }
    for tag in sorted({*contents.snapshots, *lock.container.snapshots}):
        found, baked = contents.snapshots.get(tag), lock.container.snapshots.get(tag)
        pairs[f"the snapshot {tag}"] = (found or "missing", baked or "missing")
    return [
        f"{name} is {found}, locked is {baked}"
        for name, (found, baked) in pairs.items()
        if found != baked
    ]


def contents_of(
    engine: Engine, image: str, labels: Mapping[str, str], notify: Notify
) -> ImageContents:
    """The hashes of an image's contents; ImageFailed where they cannot be computed."""
    notify("hashing the contents of the image")
    package = PACKAGE.name
    spec = ContainerSpec(
        name=f"emufarm-bake-contents-{secrets.token_hex(4)}",
        image=image,
        entrypoint=("python3",),
        # -P: a package of the same name in the image's working folder is not imported.
        command=("-P", "-B", "-m", f"{package}.pins.image_contents"),
        labels=labels,
        network="none",
        limits=_LIMITS,
        env={"PYTHONPATH": GIVEN_FOLDER},
        mounts=(GIVEN,),
    )
    code = {f"{package}/{name}": PACKAGE / name for name in SOURCES}
    with running(engine, spec, code) as id:
        result = wait_for_end(engine, id, "hashing", HASH_S, notify)
    if result is None:
        raise ImageFailed(f"hashing the image took more than {HASH_S:g} s")
    if result.code != 0:
        raise ImageFailed(f"the contents of the image cannot be hashed: {result.why}")
    try:
        return parse_contents(result.printed)
    except ValueError as error:
        raise ImageFailed(f"the image answered {result.printed[:200]!r}: {error}") from error
