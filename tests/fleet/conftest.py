"""A baked image and a Docker engine, shared by the tests of fleets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.fleet.docker.engine import Engine, connect
from tests.fleet import docker_trial
from tests.image.golden_fixtures import image, recipe

__all__ = ["image", "recipe"]


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    found = connect()
    yield found
    found.close()


@pytest.fixture(scope="session", autouse=True)
def no_stand_ins_stay() -> Iterator[None]:
    yield
    docker_trial.remove_stand_ins()
