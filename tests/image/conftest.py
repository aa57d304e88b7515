"""A folder for the images of these tests, and one baked image in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.docker import images
from orchestrator.fleet.docker.engine import Engine, connect
from orchestrator.folders import cache_folder
from orchestrator.image.builder import ImageBuilder
from orchestrator.image.cleanup import KEPT, MADE, image_filter, remove_leftovers
from orchestrator.image.docker_image import BuildInputs, DockerImage, bake_image, build_inputs
from orchestrator.pins.profile import FILE, Profile, load_profile
from tests.image.full_engine import BASE_IMAGE
from tests.image.golden_fixtures import image, recipe

__all__ = ["image", "recipe"]

NAME = "sim-api34"
IMAGES = Path(__file__).parents[2] / "images"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    engine = connect()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def builder(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageBuilder]:
    """With a cache and an images folder of its own, and the machine's wheels."""
    place = tmp_path_factory.mktemp("builder")
    wheels = cache_folder() / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    (place / "cache").mkdir()
    (place / "cache" / "wheels").symlink_to(wheels)
    home = place / "images" / NAME
    home.mkdir(parents=True)
    (home / FILE).write_bytes((IMAGES / NAME / FILE).read_bytes())
    builder = ImageBuilder(engine, print, place / "cache", place / "images", BASE_IMAGE)
    yield builder
    for lock in sorted((builder.cache / "images").glob("*.lock")):
        images.remove(engine, [*images.named(engine, image_filter(lock))])
        if lock.with_suffix(KEPT).exists():  # for a next build, which there is not
            lock.with_suffix(KEPT).replace(lock.with_suffix(MADE))
        remove_leftovers(engine, lock)


@pytest.fixture(scope="session")
def profile(builder: ImageBuilder) -> Profile:
    return load_profile(NAME, builder.images)


@pytest.fixture(scope="session")
def inputs(builder: ImageBuilder, profile: Profile) -> BuildInputs:
    return build_inputs(builder, profile)


@pytest.fixture(scope="session")
def baked(builder: ImageBuilder, inputs: BuildInputs) -> DockerImage:
    return bake_image(builder, inputs)
