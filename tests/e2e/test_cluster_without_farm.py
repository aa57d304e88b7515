"""A cluster to which k8s/, or a part of it, was never applied is refused with what to apply."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.pins.image_lock import IMAGE_FILE, Container, write_lock
from orchestrator.pins.profile import load_profile
from tests.conftest import NOBODY
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import (
    KINDS,
    NAMESPACE,
    SIM,
    SOON_S,
    Clustered,
    manifests,
    write_kubeconfig,
)
from tests.e2e.docked import PROFILE
from tests.pins.a_lock import LOCK
from tests.run.conftest import ROOT, a_farm

pytestmark = pytest.mark.kubernetes
SMOKE, CRD = "cases/smoke", "CustomResourceDefinition"
PUSHED = {"registry.test/it:1": "sha256:" + "0" * 64}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane to which nothing was applied."""
    with Cluster(tmp_path_factory.mktemp("bare"), nodes=0) as made:
        yield made


@pytest.fixture
def visitor(bare: Cluster, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Clustered:
    """Its administrator, who has a lock of an image that was pushed."""
    images, kubeconfig = tmp_path / "images", tmp_path / "kubeconfig"
    shutil.copytree(ROOT / "images", images)
    container = Container("sha256:" + "0" * 64, "it:1", "0" * 64, {}, "", PUSHED, PUSHED)
    profile = load_profile(PROFILE)
    lock = replace(LOCK, profile_digest=profile.digest, container=container)
    write_lock(images / PROFILE / IMAGE_FILE, lock)
    words = ("config", "view", "--raw", "--flatten", "-o", "json")
    config = json.loads(bare.kubectl(*words).stdout)
    config["contexts"][0]["context"]["namespace"] = NAMESPACE
    kubeconfig.write_text(json.dumps(config))
    farm = a_farm(tmp_path, tmp_path_factory)
    env = {
        **farm.env, "EMUFARM_IMAGES": str(images), "KUBECONFIG": str(kubeconfig),
        "DOCKER_HOST": NOBODY,
    }  # fmt: skip
    return Clustered(replace(farm, env=env), bare)


def is_refused(visitor: Clustered, *sentence: str, namespace: str = NAMESPACE) -> None:
    since = time.monotonic()
    place = ("--namespace", namespace)
    code, output = visitor.run(SMOKE, "--devices", "1", *place, name="early")
    assert code == 2, output
    assert time.monotonic() - since < SOON_S, output
    for part in sentence:
        assert part in output, output
    found = visitor.cluster.kubectl("get", KINDS, "--all-namespaces", "-o", "name").stdout
    assert "early" not in found
    assert not (visitor.farm.runs / "early").exists()


def test_a_cluster_without_the_farm(visitor: Clustered) -> None:
    sentence = ("the namespace nowhere has no PodTemplate", "k8s/overlays/sim")
    is_refused(visitor, *sentence, namespace="nowhere")


def test_a_cluster_without_the_custom_resource(visitor: Clustered) -> None:
    """All else is there, and the user has every right that a user has."""
    bare = visitor.cluster
    objects = manifests(bare, SIM)
    kept = [one for one in objects if one["kind"] != CRD]
    assert len(kept) == len(objects) - 1
    bare.apply(*kept)
    write_kubeconfig(bare, Path(visitor.farm.env["KUBECONFIG"]))
    is_refused(visitor, "the cluster has no FarmRuns", "k8s/overlays/sim")
