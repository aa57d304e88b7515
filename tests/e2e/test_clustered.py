"""A device's Pod, as k8s/ and a pushed image make it, starts on a real node."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.fact import DeviceFact
from orchestrator.fleet.kubernetes.access import kubeconfig_access
from orchestrator.fleet.kubernetes.backend import KubernetesBackend
from orchestrator.fleet.port import FleetOrder
from orchestrator.pins.profile import FILE, load_profile
from tests.e2e.clustered import NAMESPACE, Clustered, left, make_farm_run
from tests.e2e.docked import PROFILE
from tests.fleet.contract import PATIENCE_S, states

pytestmark = pytest.mark.kubernetes
DEVICES = 4


async def test_a_worker_starts_once_its_phone_is_ready_and_nothing_is_left_of_both(
    clustered: Clustered, tmp_path: Path
) -> None:
    """Also where its coordinator cannot be reached; on both nodes, from images by digest."""
    cluster, run = clustered.cluster, f"run-{uuid.uuid4().hex[:8]}"
    device_image, worker_image = clustered.images
    owner = make_farm_run(cluster, run, device_image, worker_image)
    (template,) = (
        one["template"]
        for one in cluster.get("podtemplates", "-n", NAMESPACE)["items"]
        if one["metadata"]["name"] == "emufarm-device"
    )
    backend = KubernetesBackend(
        kubeconfig_access(kubeconfig=cluster.kubeconfig), NAMESPACE, owner, template, device_image,
        worker_image, clustered.lock, load_profile(PROFILE),
        clustered.lock_file.with_name(FILE).read_text(), seal_s=2.0,
    )  # fmt: skip
    order = FleetOrder(
        devices=DEVICES, coordinator="http://127.0.0.1:9", key=WorkerKey("a key"), work=tmp_path,
        starts=1, boot_s=60.0, linger_s=1.0,
    )  # fmt: skip
    facts: list[DeviceFact] = []
    notices: list[str] = []
    async with (
        backend.resources(tmp_path / run, notices.append) as resources,
        resources.fleet(order, facts.append) as fleet,
    ):
        async with asyncio.timeout(PATIENCE_S):
            while states(fleet) != ["running"] * DEVICES:
                assert (facts, troubles(notices)) == ([], [])
                await asyncio.sleep(0.2)
        assert len(await resources.living()) == DEVICES
        words = ("pods", "-n", NAMESPACE, "-l", f"emufarm.dev/run={run}")
        pods = (await asyncio.to_thread(cluster.get, *words))["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == cluster.ready()
        await fleet.end()
    assert (facts, troubles(notices)) == ([], [])
    assert left(cluster, run) == []
    cluster.kubectl("delete", "farmruns", run, "-n", NAMESPACE)


def troubles(notices: list[str]) -> list[str]:
    """All but what a device waits for that is slow to start, on a busy machine."""
    starts = (" waits: the device starts", " waits: the worker starts")
    return [one for one in notices if not any(each in one for each in starts)]
