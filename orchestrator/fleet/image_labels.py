"""Is an image on the engine the one that its lock names? By its id and its labels; pure.

Labels are what a registry or a cluster can read without starting anything, so they must not lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..pins.lock import ImageLock
from .images import Image
from .recipe import PROFILE_LABEL, RECIPE_LABEL, RELOCATABLE_LABEL

TREE_LABEL = "emufarm.sdk.tree"  # over every file of the unpacked SDK


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
