"""The farm of the quicker run tests, the farm on a Docker engine, and real Kubernetes clusters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.cluster import build
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.reached import Reached
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


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    """The one that EMUFARM_TEST_KUBECONFIG names, else one with two nodes, made for the session."""
    if given := os.environ.get("EMUFARM_TEST_KUBECONFIG"):
        yield Reached(build.programs().kube, Path(given))
        return
    with Cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def own_cluster(cluster: Reached) -> Cluster:
    """One whose nodes a test may stop and whose images it may push."""
    if not isinstance(cluster, Cluster):
        pytest.skip("needs nodes of its own, and EMUFARM_TEST_KUBECONFIG names another cluster")
    return cluster


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane without nodes: Pods are what a test writes that they are."""
    with Cluster(tmp_path_factory.mktemp("api-server"), nodes=0) as made:
        yield made
