"""Agents' Pods on a real API server without nodes: which of them are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from orchestrator.coordinator.ledger import CoordinatorStopped
from orchestrator.coordinator.messages import AgentContainers
from orchestrator.fleet.kubernetes import agents, names
from orchestrator.fleet.kubernetes.api import PODS, Json, ObjectKind
from orchestrator.fleet.kubernetes.pod_spec import AgentPodImage
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.pods_by_hand import IMAGE, RUNNING, TEMPLATE, PodsByHand, container, pods_by_hand
from tests.e2e.test_kubernetes_start import refusal
from tests.e2e.test_manifests import farm
from tests.fleet.contract import PATIENCE_S, states, until

__all__ = ["farm"]

pytestmark = pytest.mark.kubernetes
DEVICE = "slot-00.1"
QUOTAS = ObjectKind("api/v1", "resourcequotas")


@pytest_asyncio.fixture
async def hand(farm: Cluster, tmp_path: Path) -> AsyncIterator[PodsByHand]:
    """Its run's agent comes in an image."""
    async with pods_by_hand(farm, tmp_path) as made:
        path = TEMPLATE.with_name("agent.yaml")
        made.agent = AgentPodImage(IMAGE, yaml.safe_load(path.read_text())["template"])
        yield made


@pytest_asyncio.fixture
async def containers(hand: PodsByHand) -> AsyncIterator[AgentContainers]:
    """With one device at work."""
    async with hand.fleet() as fleet:
        await hand.running(DEVICE)
        await until(lambda: states(fleet) == ["running"])
        assert fleet.agents is not None
        yield fleet.agents


async def agent_pod(hand: PodsByHand) -> Json:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for pod in await hand.pods():
                if pod["metadata"]["labels"][names.COMPONENT] == "agent":
                    return pod
            await asyncio.sleep(0.05)


async def test_an_agent_that_waits_for_a_node_keeps_its_place_and_is_no_fault(
    hand: PodsByHand, containers: AgentContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker is told to ask again, as when a coordinator is away."""
    monkeypatch.setattr(agents, "ANSWER_S", 0.5)
    monkeypatch.setattr(agents, "START_S", 0.1)
    with pytest.raises(CoordinatorStopped, match="the agent's Pod waits"):
        await containers.agent(DEVICE, "start")
    before = await agent_pod(hand)
    monkeypatch.setattr(agents, "ANSWER_S", 60.0)
    monkeypatch.setattr(agents, "START_S", 60.0)
    await reached(hand, containers, IMAGE)
    assert (await agent_pod(hand))["metadata"]["uid"] == before["metadata"]["uid"]
    assert any(f"the agent of {DEVICE} waits" in line for line in hand.notices)


async def test_an_agent_whose_image_cannot_be_pulled_is_the_farms_fault_in_time(
    hand: PodsByHand, containers: AgentContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "START_S", 0.5)
    starting = asyncio.create_task(containers.agent(DEVICE, "start"))
    name = (await agent_pod(hand))["metadata"]["name"]
    await hand.bind(name)
    state = {"waiting": {"reason": "ErrImagePull", "message": "manifest unknown"}}
    stuck = container("agent", state, started=False) | {"imageID": ""}
    await hand.write(name, {"phase": "Pending", "containerStatuses": [stuck]})
    status = await starting
    assert status.fault == "farm"
    assert "did not run within" in status.text
    assert "manifest unknown" in status.text
    assert await hand.api.get(PODS, name) is None


async def test_an_agent_for_which_the_quota_has_no_room_is_waited_for_and_is_no_fault(
    hand: PodsByHand, containers: AgentContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "ANSWER_S", 0.5)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}}
    await hand.api.create(QUOTAS, {**quota, "spec": {"hard": {"pods": "0"}}})
    try:
        await until(lambda: "exceeded quota" in refusal(hand))  # its admission has seen it
        with pytest.raises(CoordinatorStopped, match=r"the agent's Pod waits: .* quota: one"):
            await containers.agent(DEVICE, "start")
        assert any(f"the agent of {DEVICE} waits" in line for line in hand.notices)
    finally:
        await hand.api.delete(QUOTAS, "one")
    monkeypatch.setattr(agents, "ANSWER_S", 60.0)
    await reached(hand, containers, IMAGE)


async def test_an_agent_that_runs_another_image_than_was_asked_for_is_not_used(
    hand: PodsByHand, containers: AgentContainers
) -> None:
    """And the status of its Pod is kept, since its end was not its own."""
    other = f"registry.test/it@sha256:{'1' * 64}"
    starting = asyncio.create_task(containers.agent(DEVICE, "start"))
    name = await runs(hand, other)
    status = await starting
    assert (status.fault, status.url) == ("farm", "")
    assert status.text.startswith("pin_mismatch: the agent's image is sha256:1111")
    kept = hand.logs / f"{DEVICE}.{name.rpartition('-')[2]}.pod.json"
    assert other in kept.read_text()


async def reached(hand: PodsByHand, containers: AgentContainers, image: str) -> None:
    starting = asyncio.create_task(containers.agent(DEVICE, "start"))
    await runs(hand, image)
    assert (await starting).url == "http://10.9.8.7:8080/"


async def runs(hand: PodsByHand, image: str) -> str:
    """The agent's Pod, once the kubelet runs it."""
    name: str = (await agent_pod(hand))["metadata"]["name"]
    await hand.bind(name)
    its = container("agent", RUNNING) | {"imageID": image}
    await hand.write(name, {"phase": "Running", "containerStatuses": [its], "podIP": "10.9.8.7"})
    return name
