"""The fleet contract on a real Docker engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.docker.engine import Engine
from tests.fleet.contract import FleetContract
from tests.fleet.docker_trial import DockerTrial, docker_trial

pytestmark = pytest.mark.docker


@pytest.fixture
def trial(engine: Engine, tmp_path: Path) -> Iterator[DockerTrial]:
    with docker_trial(tmp_path / "a-run", engine) as trial:
        yield trial


class TestDockerFleet(FleetContract):
    pass
