"""Provides a Docker engine and a Kubernetes cluster: given ones, or ones made for the session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings

from orchestrator.folders import cache_folder
from orchestrator.image.wheelhouse import wheelhouse
from tests.e2e.cluster import build
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.reached import Reached
from tests.e2e.engine import Engine

# A busy machine is no failure. All else is as Hypothesis has it, here or under CI.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")
# Suites that several adapters share say what was unequal, as test modules do.
pytest.register_assert_rewrite(
    "tests.fleet.contract", "tests.fleet.docker_trial", "tests.fleet.pods_trial"
)
NOBODY = "unix:///nonexistent/docker.sock"


@pytest.fixture(scope="session", autouse=True)
def docker_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """It is named in the environment, as for a user. Where nobody needs one, none is started, and
    a developer's own is out of sight: `auto` is then the embedded fleet on every machine."""
    marks = [mark for one in request.session.items if (mark := one.get_closest_marker("docker"))]
    engine = Engine(soon={base for mark in marks for base in mark.args})
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as beside:
        if not marks:
            patch.setenv("DOCKER_HOST", NOBODY)
            yield engine
            return
        # Images are built with them; whoever needs them waits for them, and hears why they fail.
        beside.submit(wheelhouse, cache_folder(), print)
        with engine:
            for name, value in engine.env.items():
                patch.setenv(name, value)
            yield engine


@pytest.fixture(scope="session")
def image_engine(docker_engine: Engine) -> Iterator[Engine]:
    """For tests of a cluster that need images made. Where no test has the marker `docker`, it is
    started here, and only those who build are told of it."""
    if docker_engine.ours:
        yield docker_engine
        return
    with docker_engine:
        yield docker_engine


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    """The one that EMUFARM_TEST_KUBECONFIG names, else one with two nodes, made for the session."""
    if given := os.environ.get("EMUFARM_TEST_KUBECONFIG"):
        yield Reached(build.programs().kube, Path(given))
        return
    with Cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="session")
def own_cluster(cluster: Reached) -> Cluster:
    """One whose nodes a test may stop and whose images it may push."""
    if not isinstance(cluster, Cluster):
        pytest.skip("needs nodes of its own: leave EMUFARM_TEST_KUBECONFIG out, as root")
    return cluster
