"""A device's Pod, filled in: what its worker sees of a shared volume, and which nodes it avoids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.kubernetes.pod_spec import PodSettings
from orchestrator.fleet.port import FleetOrder
from orchestrator.pins.profile import load_profile

TEMPLATES = Path(__file__).parents[2] / "k8s" / "base" / "pod-templates"
DEVICE, WORKER = f"sha256:{'d' * 64}", f"sha256:{'e' * 64}"


def settings(template: dict[str, Any]) -> PodSettings:
    order = FleetOrder(
        devices=1, coordinator="http://10.0.0.1:8080", key=WorkerKey("a key"), work=Path("work"),
        starts=5, boot_s=60.0, linger_s=1.0,
    )  # fmt: skip
    return PodSettings(
        "a-run", {"uid": "1"}, template, f"r/device@{DEVICE}", f"r/worker@{WORKER}",
        load_profile("sim-api34"), {}, order,
    )  # fmt: skip


def device_template() -> dict[str, Any]:
    template: dict[str, Any] = yaml.safe_load((TEMPLATES / "device.yaml").read_text())["template"]
    return template


def staging_of(pod: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The worker's mount of it, and where the worker looks."""
    (worker,) = pod["spec"]["containers"]
    (mount,) = (one for one in worker["volumeMounts"] if one["name"] == "staging")
    return mount, worker["args"][worker["args"].index("--staging") + 1]


def test_a_worker_sees_its_own_folder_of_a_shared_volume_and_no_other() -> None:
    """Else it could read another's leases there, and seal bundles for them."""
    template = device_template()
    template["spec"]["volumes"] = [
        {"name": "staging", "persistentVolumeClaim": {"claimName": "shared"}}
        if one["name"] == "staging"
        else one
        for one in template["spec"]["volumes"]
    ]
    mount, place = staging_of(settings(template).pod("slot-00.1"))
    assert mount == {"name": "staging", "mountPath": "/staging", "subPath": "a-run/slot-00.1"}
    assert place == "/staging"


@pytest.mark.parametrize("component", ["device", "agent", "coordinator"])
def test_no_template_lets_an_autoscaler_move_an_episode(component: str) -> None:
    template = yaml.safe_load((TEMPLATES / f"{component}.yaml").read_text())["template"]
    annotations = template["metadata"]["annotations"]
    assert annotations["karpenter.sh/do-not-disrupt"] == "true"
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


def test_a_volume_of_the_pods_own_has_no_folders() -> None:
    mount, place = staging_of(settings(device_template()).pod("slot-00.1"))
    assert mount == {"name": "staging", "mountPath": "/staging"}
    assert place == "/staging"


def test_nodes_are_avoided_by_name_in_every_term() -> None:
    """Terms are alternatives; the API takes one name in a rule of a field."""
    template = device_template()
    mine = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = [{"matchExpressions": [mine]}, {"matchFields": []}]
    template["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }
    pod = settings(template).pod("slot-00.1", {"node-b", "node-a"})
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    rules = [
        {"key": "metadata.name", "operator": "NotIn", "values": [node]}
        for node in ("node-a", "node-b")
    ]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [mine], "matchFields": rules},
        {"matchFields": rules},
    ]


def test_another_image_of_either_container_is_told_with_both_digests() -> None:
    made, other = settings(device_template()), f"sha256:{'0' * 64}"
    assert made.other_images({"device": DEVICE, "worker": WORKER}) == ""
    assert made.other_images({}) == ""  # none is known yet
    for name, wanted in (("device", DEVICE), ("worker", WORKER)):
        text = made.other_images({"device": DEVICE, "worker": WORKER, name: other})
        assert text == f"pin_mismatch: the {name}'s image is {other}, and {wanted} was asked for"
