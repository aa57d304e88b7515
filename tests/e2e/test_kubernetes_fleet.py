"""A fleet of Pods names every cause by which the cluster takes a device away, and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from orchestrator.fleet.kubernetes import names, pair
from orchestrator.fleet.kubernetes.api import (
    PODS,
    SECRETS,
    ClusterRefused,
    Json,
)
from orchestrator.fleet.kubernetes.farm_run import timestamp
from orchestrator.outcome import Cause
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.pods_by_hand import (
    DIGEST,
    IMAGE,
    RUNNING,
    PodsByHand,
    condition,
    container,
    ended_with,
    left_with,
    pods_by_hand,
    status,
)
from tests.e2e.test_manifests import apply_sim
from tests.fleet.contract import ended, states, until

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def farm(api_server: Cluster) -> Cluster:
    apply_sim(api_server)
    return api_server


@pytest_asyncio.fixture
async def hand(farm: Cluster, tmp_path: Path) -> AsyncIterator[PodsByHand]:
    async with pods_by_hand(farm, tmp_path) as made:
        yield made


def disrupted(by: str, **more: Any) -> Json:
    return status(phase="Failed", conditions=[condition("DisruptionTarget", by)], **more)


def now_disrupted(by: str) -> Json:
    """Just now: the cluster takes back what was said minutes ago of a Pod that is still there."""
    return {**condition("DisruptionTarget", by), "lastTransitionTime": timestamp()}


def lost_device(code: int, reason: str = "Error") -> Json:
    """Restarted in its Pod by the kubelet; its worker has not noticed yet."""
    return status(device=container("device", RUNNING, restarts=1, last=ended_with(code, reason)))


def crashed_worker(code: int, reason: str = "Error") -> Json:
    return status(worker=container("worker", RUNNING, restarts=1, last=ended_with(code, reason)))


@pytest.mark.parametrize(("code", "cause"), [(0, Cause.EVICTED), (139, Cause.CRASHED)])
async def test_a_device_that_ends_with_its_evicted_pod_was_evicted_unless_it_crashed(
    hand: PodsByHand, code: int, cause: Cause
) -> None:
    """The kubelet asks its containers to end. Here both are first seen together."""
    async with hand.fleet():
        device = container("device", ended_with(code), restarts=0, started=False)
        target = now_disrupted("EvictionByEvictionAPI")
        state = status(device, conditions=[target])
        await hand.write(await hand.running("slot-00.1"), state)
        assert (await hand.fact()).cause is cause
        await hand.made("slot-00.2")


async def test_whatever_a_device_ends_with_after_its_pod_was_told_to_go_was_the_cause_of_that(
    hand: PodsByHand,
) -> None:
    """Such as a kill at the end of its grace."""
    hand.seal_s = 10.0
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        target = now_disrupted("EvictionByEvictionAPI")
        await hand.write(name, status(conditions=[target]))
        await asyncio.sleep(1.0)  # it is seen, and its worker has some seconds to leave
        device = container("device", ended_with(137), restarts=0, started=False)
        await hand.write(name, status(device, conditions=[target]))
        assert (await hand.fact()).cause is Cause.EVICTED


async def test_a_worker_that_leaves_with_0_ends_its_slot(hand: PodsByHand) -> None:
    async with hand.fleet() as fleet:
        await hand.write(await hand.running("slot-00.1"), left_with(0))
        await ended(fleet)
        assert states(fleet) == ["finished"]
    assert hand.facts.empty()


async def test_a_crashed_worker_is_restarted_in_its_pod_and_replaced_the_second_time(
    hand: PodsByHand,
) -> None:
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        await hand.write(name, crashed_worker(7))
        fact = await hand.fact()
        assert (fact.kind, fact.cause, fact.exit_code) == ("worker_lost", Cause.EXITED, 7)
        assert (hand.logs / "slot-00.1.crash-1.pod.json").exists()
        assert [pod["metadata"]["name"] for pod in await hand.pods()] == [name]
        again = container("worker", RUNNING, restarts=2, last=ended_with(137))
        await hand.write(name, status(worker=again))
        fact = await hand.fact()
        assert (fact.kind, fact.cause, fact.exit_code) == ("worker_lost", Cause.KILLED, 137)
        await hand.made("slot-00.2")


OTHER = IMAGE.replace(DIGEST, "sha256:" + "1" * 64)


async def test_another_image_than_was_asked_for_is_no_device(hand: PodsByHand) -> None:
    async with hand.fleet() as fleet:
        name = await hand.bound("slot-00.1")
        device = container("device", RUNNING, started=False) | {"imageID": OTHER}
        waiting = container("worker", {"waiting": {"reason": "PodInitializing"}}, started=False)
        await hand.write(name, status(device, waiting, phase="Pending"))
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_not_started", Cause.PIN_MISMATCH)
        assert fact.text.startswith("pin_mismatch")
        await ended(fleet)
        assert states(fleet) == ["given_up"]


@pytest.mark.parametrize("part", ["device", "worker"])
@pytest.mark.parametrize("adopted", [False, True])
async def test_another_image_is_noticed_in_a_pod_that_runs_already(
    hand: PodsByHand, part: str, adopted: bool
) -> None:
    state = status(**{part: container(part, RUNNING) | {"imageID": OTHER}})
    if adopted:
        async with hand.fleet() as fleet:
            await hand.running("slot-00.1")
            await until(lambda: states(fleet) == ["running"])
            await fleet.leave()
        await hand.write(names.device_object(hand.run, "slot-00.1"), state)
    async with hand.fleet(adopt=adopted) as fleet:
        if not adopted:
            await hand.write(await hand.bound("slot-00.1"), state)
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", Cause.PIN_MISMATCH)
        assert f"the {part}'s image is sha256:1111" in fact.text
        await ended(fleet)
        assert states(fleet) == ["given_up"]


@pytest.mark.parametrize("code", [126, 127])
async def test_a_worker_whose_program_cannot_be_run_ends_its_slot(
    hand: PodsByHand, code: int
) -> None:
    async with hand.fleet() as fleet:
        await hand.write(await hand.running("slot-00.1"), crashed_worker(code))
        fact = await hand.fact()
        assert (fact.kind, fact.cause, fact.exit_code) == ("worker_lost", Cause.CONFIG_ERROR, code)
        await ended(fleet)
        assert states(fleet) == ["given_up"]


async def test_pods_of_a_lost_node_are_removed_by_force(hand: PodsByHand) -> None:
    """At once: its kubelet will never confirm their end."""
    hand.dead_nodes.add("node-x")
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        target = now_disrupted("DeletionByTaintManager")
        await hand.write(name, status(conditions=[target]))
        await hand.api.delete(PODS, name)
        async with asyncio.timeout(pair.REMOVE_S / 2):
            fact = await hand.fact()
            assert (fact.kind, fact.cause) == ("device_lost", Cause.NODE_LOST)
            await hand.made("slot-00.2")


async def test_a_pod_that_a_finalizer_holds_is_reported_when_it_has_ended(
    hand: PodsByHand,
) -> None:
    """Before the lease expires, so that the attempt has the cause."""
    hand.template["metadata"]["finalizers"] = ["example.org/held"]
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        await hand.write(name, disrupted("EvictionByEvictionAPI"))
        async with asyncio.timeout(pair.REMOVE_S / 2):
            assert (await hand.fact()).cause is Cause.EVICTED
            await hand.made("slot-00.2")
    held = [line for line in hand.notices if "example.org/held" in line]
    assert any(name in line for line in held)
    for one in await hand.pods():
        about = {"metadata": {"finalizers": None}}
        await hand.api.patch(PODS, one["metadata"]["name"], about)
    while await hand.pods():  # noqa: ASYNC110 - the server removes it in its own time
        await asyncio.sleep(0.05)


async def test_a_pod_that_somebody_deletes_is_replaced(hand: PodsByHand) -> None:
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        await hand.api.delete(PODS, name)
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", Cause.REMOVED)
        assert (hand.logs / "slot-00.1.pod.json").exists()
        await hand.made("slot-00.2")


async def pod_names(hand: PodsByHand) -> set[str]:
    return {pod["metadata"]["name"] for pod in await hand.pods()}


async def test_a_fleet_grows_and_shrinks_where_no_lease_is_held(hand: PodsByHand) -> None:
    async with hand.fleet(devices=2) as fleet:
        for device in ("slot-00.1", "slot-01.1"):
            await hand.running(device)
        await until(lambda: states(fleet) == ["running", "running"])
        await fleet.resize(1, busy={"slot-01.1"})
        assert states(fleet) == ["stopped", "running"]
        labels = [pod["metadata"]["labels"][names.DEVICE] for pod in await hand.pods()]
        assert labels == ["slot-01.1"]
        await fleet.resize(2)
        await hand.running("slot-02.1")
        await until(lambda: states(fleet) == ["stopped", "running", "running"])
    assert hand.facts.empty()


async def test_an_api_server_that_is_away_costs_no_device(hand: PodsByHand, farm: Cluster) -> None:
    async with hand.fleet() as fleet:
        name = await hand.running("slot-00.1")
        await until(lambda: states(fleet) == ["running"])
        await asyncio.to_thread(farm.stop_api)
        await until(lambda: any("cannot be watched" in line for line in hand.notices))
        await asyncio.to_thread(farm.start_api)
        await hand.write(name, lost_device(139))
        assert (await hand.fact()).cause is Cause.CRASHED
        await hand.made("slot-00.2")


async def test_a_refusal_has_the_servers_word_for_it(hand: PodsByHand) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": hand.run}}
    await hand.api.create(SECRETS, secret)
    try:
        with pytest.raises(ClusterRefused) as found:
            await hand.api.create(SECRETS, secret)
    finally:
        await hand.api.delete(SECRETS, hand.run)
    assert (found.value.status, found.value.exists, found.value.passing) == (409, True, False)


async def test_a_device_has_a_secret_of_its_own_which_goes_with_it(hand: PodsByHand) -> None:
    """Its phone sees the control token only."""
    async with hand.fleet():
        name = await hand.made("slot-00.1")
        secret, pod = await hand.api.get(SECRETS, name), await hand.api.get(PODS, name)
        assert secret is not None
        assert pod is not None
        assert secret["metadata"]["ownerReferences"][0]["name"] == hand.run
        assert set(secret["data"]) == {
            "worker.token", "control.token", "image.lock.json", "profile.yaml"
        }  # fmt: skip
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        seen = [item["key"] for item in volumes["given-device"]["secret"]["items"]]
        assert seen == ["control.token"]
    assert await hand.api.get(SECRETS, name) is None
