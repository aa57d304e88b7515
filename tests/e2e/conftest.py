"""The farm of the quicker run tests, on a Docker engine and on a Kubernetes cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.reached import Reached
from tests.e2e.clustered import Clustered, a_clustered
from tests.e2e.docked import PROFILE, Docked
from tests.e2e.engine import Engine
from tests.run.conftest import BUILD_S, ROOT, a_farm, ended, farm

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
    code, output = ended(docked.farm.start("image", "bake", PROFILE), BUILD_S)
    assert code == 0, output
    return Path(docked.farm.env["EMUFARM_IMAGES"]) / PROFILE / "image.lock.json"


@pytest.fixture(scope="session")
def clustered(
    own_cluster: Cluster, image_engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Clustered:
    """Its images are in the cluster's registry, and it runs without any engine."""
    place = tmp_path_factory.mktemp("clustered")
    return a_clustered(a_farm(place, tmp_path_factory), place, own_cluster, image_engine)


@pytest.fixture(scope="session")
def patient_cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke case, whose agent has 300 s: it waits until a test has done what takes long."""
    text = (ROOT / "cases/smoke/wifi_off/case.yaml").read_text()
    case = tmp_path_factory.mktemp("cases") / "wifi_off" / "case.yaml"
    case.parent.mkdir()
    case.write_text(text.replace("seconds: 60", "seconds: 300"))
    assert case.read_text() != text
    return case.parents[1]


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane without nodes: Pods are what a test writes that they are."""
    with Cluster(tmp_path_factory.mktemp("api-server"), nodes=0) as made:
        yield made


@pytest.fixture(scope="session")
def any_cluster(request: pytest.FixtureRequest) -> Reached:
    """For tests that need an API server and no more: the one that EMUFARM_TEST_KUBECONFIG names,
    else ours without nodes."""
    name = "cluster" if os.environ.get("EMUFARM_TEST_KUBECONFIG") else "api_server"
    found: Reached = request.getfixturevalue(name)
    return found
