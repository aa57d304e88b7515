"""A golden image of the simulated phone, baked once and shared by every process of a session."""

from __future__ import annotations

import os

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.farm.simulated_phone import simulator
from orchestrator.files import source_sha256
from orchestrator.image.golden_bake import GoldenBaker
from orchestrator.image.golden_cache import GoldenImage, GoldenRecipe, golden_image
from orchestrator.image.simphone import simphone
from orchestrator.pins.profile import load_profile


@pytest.fixture(scope="session")
def recipe() -> GoldenRecipe:
    program = source_sha256(simphone().folder)
    baker = GoldenBaker(simulator(), adb_binary(), dict(os.environ), simphone().system_image)
    return GoldenRecipe(load_profile("sim-api34"), program, baker, simphone().create_avd)


@pytest.fixture(scope="session")
def image(recipe: GoldenRecipe, tmp_path_factory: pytest.TempPathFactory) -> GoldenImage:
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    return golden_image(recipe, shared / "cache", lambda line: None)
