"""The fleet contract on a real Kubernetes cluster with two nodes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import SIM, apply_farm
from tests.e2e.engine import Engine
from tests.fleet.contract import FleetContract
from tests.fleet.docker_trial import remove_stand_ins
from tests.fleet.pods_trial import PodsTrial, pods_trial, staging_volume

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def _builder(own_cluster: Cluster, image_engine: Engine) -> Iterator[None]:
    """The engine on which stand-ins are built."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in image_engine.env.items():
            patch.setenv(name, value)
        yield
        remove_stand_ins()


@pytest.fixture(scope="module")
def volume(own_cluster: Cluster) -> Iterator[Path]:
    apply_farm(own_cluster, SIM)
    with staging_volume(own_cluster) as folder:
        yield folder


@pytest.fixture
def trial(
    _builder: None, own_cluster: Cluster, volume: Path, tmp_path: Path
) -> Iterator[PodsTrial]:
    run = tmp_path / f"trial-{uuid.uuid4().hex[:8]}"
    with pods_trial(run, own_cluster, volume) as trial:
        yield trial


class TestKubernetesFleet(FleetContract):
    pass
