"""The farm of the quicker run tests, and the farm on a Docker engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.docked import PROFILE, Docked
from tests.e2e.engine import Engine
from tests.run.conftest import ROOT, a_farm, ended, farm

__all__ = ["farm"]


@pytest.fixture(scope="session")
def docked(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docked]:
    """Its images' locks are its own, and nothing but images is left of it."""
    place = tmp_path_factory.mktemp("docked")
    one = a_farm(place, tmp_path_factory)
    shutil.copytree(ROOT / "images", place / "images")
    there = Docked(
        replace(one, env={**one.env, "EMUFARM_IMAGES": f"{place}/images"}), docker_engine
    )
    before = there.left()
    yield there
    assert there.left() == before


@pytest.fixture(scope="session")
def baked(docked: Docked) -> Path:
    """The lock of an image that was made here, once for all tests."""
    code, output = ended(docked.farm.start("image", "bake", PROFILE))
    assert code == 0, output
    return Path(docked.farm.env["EMUFARM_IMAGES"]) / PROFILE / "image.lock.json"
