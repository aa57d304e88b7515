"""A fleet of Pods names every cause by which the cluster takes a device away, and goes on."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from orchestrator.fleet.kubernetes import names, pair
from orchestrator.fleet.kubernetes.access import kubeconfig_access
from orchestrator.fleet.kubernetes.api import (
    PODS,
    SECRETS,
    ClusterRefused,
    Json,
    KubernetesApi,
    ObjectKind,
)
from orchestrator.fleet.kubernetes.farm_run import timestamp
from orchestrator.fleet.kubernetes.pair import is_forbidden
from orchestrator.fleet.kubernetes.watch import PodWatch
from orchestrator.outcome import Cause
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import bind, write_kubeconfig
from tests.e2e.pods_by_hand import (
    DIGEST,
    IMAGE,
    NAMESPACE,
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
from tests.fleet.contract import PATIENCE_S, ended, states, until

pytestmark = pytest.mark.kubernetes
QUOTAS = ObjectKind("api/v1", "resourcequotas")


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


async def test_a_phone_that_never_comes_up_is_reported_with_its_code(hand: PodsByHand) -> None:
    async with hand.fleet(starts=1) as fleet:
        name = await hand.bound("slot-00.1")
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
        device = container("device", waiting, restarts=1, last=ended_with(1), started=False)
        worker = container("worker", {"waiting": {"reason": "PodInitializing"}}, started=False)
        await hand.write(name, status(device, worker, phase="Pending"))
        fact = await hand.fact()
        assert (fact.kind, fact.cause, fact.exit_code) == ("device_not_started", Cause.EXITED, 1)
        await ended(fleet)
        assert states(fleet) == ["given_up"]


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


@pytest.mark.parametrize(
    "reason", ["InvalidImageName", "CreateContainerConfigError", "ErrImageNeverPull"]
)
async def test_what_no_other_pod_would_do_better_ends_the_slot_with_a_sentence(
    hand: PodsByHand, reason: str
) -> None:
    async with hand.fleet() as fleet:
        name = await hand.bound("slot-00.1")
        waiting = {"waiting": {"reason": reason, "message": "couldn't use it"}}
        device = container("device", waiting, started=False) | {"imageID": ""}
        await hand.write(name, status(device, phase="Pending", containerStatuses=[]))
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_not_started", Cause.CONFIG_ERROR)
        assert "couldn't use it" in fact.text
        await ended(fleet)
        assert states(fleet) == ["given_up"]


async def test_an_image_that_cannot_be_pulled_is_said_and_given_up_in_time(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.NOTICE_S", 0.1)
    hand.pending_s = 2.0
    async with hand.fleet() as fleet:
        name = await hand.bound("slot-00.1")
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}
        device = container("device", waiting, started=False) | {"imageID": ""}
        await hand.write(name, status(device, phase="Pending", containerStatuses=[]))
        await ended(fleet)
        assert states(fleet) == ["given_up"]
    assert any("slot-00.1 waits" in line and "manifest unknown" in line for line in hand.notices)
    assert (await hand.fact()).cause is Cause.IMAGE_ERROR


async def test_without_a_node_it_waits_while_another_device_is_at_work(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.NOTICE_S", 0.1)
    hand.pending_s = 3.0
    no_room = condition("PodScheduled", "Unschedulable", "False", "0/2 nodes are available")
    async with hand.fleet(devices=2) as fleet:
        await hand.running("slot-00.1")
        await until(lambda: "running" in states(fleet))
        name = await hand.made("slot-01.1")
        await hand.write(name, {"phase": "Pending", "conditions": [no_room]})
        await until(lambda: any("0/2 nodes" in line for line in hand.notices))
        await asyncio.sleep(3.5)  # longer than the time that a fleet without a device has
        assert states(fleet) == ["running", "starting"]
    assert hand.facts.empty()


async def test_a_queued_pod_is_waited_for_without_limit(hand: PodsByHand) -> None:
    hand.pending_s = 0.5
    hand.template["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    async with hand.fleet() as fleet:
        await hand.made("slot-00.1")
        await until(lambda: states(fleet) == ["queued"])
        await asyncio.sleep(1.5)
        assert states(fleet) == ["queued"]
    assert hand.facts.empty()


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


async def test_a_container_that_the_runtime_cannot_make_is_tried_in_one_other_pod(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while another device is at work."""
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.RUNTIME_S", 0.5)
    waiting = {"waiting": {"reason": "CreateContainerError", "message": "no shim"}}
    device = container("device", waiting, started=False) | {"imageID": ""}
    async with hand.fleet(devices=2) as fleet:
        await hand.running("slot-00.1")
        for device_name in ("slot-01.1", "slot-01.2"):
            name = await hand.bound(device_name)
            await hand.write(name, status(device, phase="Pending", containerStatuses=[]))
            fact = await hand.fact()
            assert (fact.kind, fact.cause) == ("device_not_started", Cause.RUNTIME_ERROR)
            assert (hand.logs / f"{device_name}.pod.json").exists()
        await until(lambda: states(fleet) == ["running", "given_up"])


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


async def test_a_phone_that_is_not_ready_in_time_leaves_its_status_and_counts_for_its_node(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.BOOT_GRACE_S", -59.5)
    device = container("device", RUNNING, started=False)
    waiting = container("worker", {"waiting": {"reason": "PodInitializing"}}, started=False)
    async with hand.fleet(starts=9):
        for number in (1, 2, 3):
            name = await hand.bound(f"slot-00.{number}")
            await hand.write(name, status(device, waiting, phase="Pending"))
            fact = await hand.fact()
            assert (fact.kind, fact.cause) == ("device_not_started", Cause.START_TIMEOUT)
            assert (hand.logs / f"slot-00.{number}.pod.json").exists()
        await until(lambda: any("node-x is avoided" in line for line in hand.notices))


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


async def test_pods_that_are_taken_before_they_start_end_their_slot_in_time(
    hand: PodsByHand,
) -> None:
    """Each is free, and all together have the pending time-out."""
    hand.pending_s = 3.0
    taken: set[str] = set()
    async with hand.fleet(starts=1) as fleet, asyncio.timeout(60):
        while states(fleet) != ["given_up"]:
            for name in {pod["metadata"]["name"] for pod in await hand.pods()} - taken:
                taken.add(name)
                with suppress(ClusterRefused):  # its time was over a moment before
                    await hand.bind(name)
                    state = {**disrupted("PreemptionByScheduler"), "containerStatuses": []}
                    await hand.write(name, state)
            await asyncio.sleep(0.05)
    facts = [hand.facts.get_nowait() for _ in range(hand.facts.qsize())]
    assert facts[0].cause is Cause.PREEMPTED
    assert "no device is at work" in facts[-1].text
    assert {fact.cause for fact in facts if "no device is at work" not in fact.text} == {
        Cause.PREEMPTED
    }


async def test_a_pod_that_somebody_deletes_is_replaced(hand: PodsByHand) -> None:
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        await hand.api.delete(PODS, name)
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", Cause.REMOVED)
        assert (hand.logs / "slot-00.1.pod.json").exists()
        await hand.made("slot-00.2")


async def test_a_node_is_avoided_after_three_faults_in_a_row(hand: PodsByHand) -> None:
    async with hand.fleet(starts=9):
        for number in (1, 2, 3):
            await hand.write(await hand.running(f"slot-00.{number}"), lost_device(139))
            await hand.fact()
        name = await hand.made("slot-00.4")
        pod = await hand.api.get(PODS, name)
        assert pod is not None
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        rule = {"key": "metadata.name", "operator": "NotIn", "values": ["node-x"]}
        assert term["matchFields"] == [rule]
        assert any("node-x is avoided" in line for line in hand.notices)


NO_NODE = status(
    conditions=[condition("PodScheduled", "Unschedulable", "False", "0/1 nodes")],
    phase="Pending", initContainerStatuses=[], containerStatuses=[],
)  # fmt: skip


async def avoiding_node_x(hand: PodsByHand) -> None:
    """Until the first slot's fourth device, which no node takes."""
    for number in (1, 2, 3):
        await hand.write(await hand.running(f"slot-00.{number}"), lost_device(139))
        await hand.fact()
    await hand.write(await hand.made("slot-00.4"), NO_NODE)


async def test_a_pod_that_avoids_a_node_waits_for_another_while_a_device_is_at_work(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The avoided node is tried again where nothing else is left, and that is said."""
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.AVOIDED_S", 0.5)
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.NOTICE_S", 3.0)
    async with hand.fleet(devices=2, starts=9) as fleet:
        other = await hand.running("slot-01.1", "node-y")
        await until(lambda: states(fleet)[1] == "running")
        await avoiding_node_x(hand)
        # It is looked at every other second.
        await until(lambda: any("slot-00.4 waits: " in line for line in hand.notices))
        assert names.device_object(hand.run, "slot-00.4") in await pod_names(hand)
        await hand.write(other, left_with(0))
        pod = await hand.api.get(PODS, await hand.made("slot-00.5"))
        assert pod is not None
        assert "affinity" not in pod["spec"]
    assert [line for line in hand.notices if "the avoided ones are tried again" in line]


async def test_a_pod_does_not_wait_for_what_its_run_avoids_no_longer(hand: PodsByHand) -> None:
    async with hand.fleet(devices=2, starts=9) as fleet:
        await hand.running("slot-01.1")
        await until(lambda: states(fleet)[1] == "running")
        await avoiding_node_x(hand)
        fleet.committed("slot-01.1")
        pod = await hand.api.get(PODS, await hand.made("slot-00.5"))
        assert pod is not None
        assert "affinity" not in pod["spec"]


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


async def test_pods_outlive_their_coordinator_and_are_adopted_by_the_next(
    hand: PodsByHand,
) -> None:
    async with hand.fleet() as fleet:
        name = await hand.running("slot-00.1")
        await until(lambda: states(fleet) == ["running"])
        await fleet.leave()
    (before,) = await hand.pods()
    async with hand.fleet(adopt=True) as fleet:
        await until(lambda: states(fleet) == ["running"])
        (pod,) = await hand.pods()
        assert pod["metadata"]["uid"] == before["metadata"]["uid"]
        await hand.write(name, left_with(0))
        await ended(fleet)
        assert states(fleet) == ["finished"]
    assert hand.facts.empty()


async def test_pods_that_have_not_started_and_those_whose_worker_restarts_are_adopted_too(
    hand: PodsByHand,
) -> None:
    booting = container("device", RUNNING, started=False)
    not_yet = container("worker", {"waiting": {"reason": "PodInitializing"}}, started=False)
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    restarting = container("worker", waiting, restarts=1, last=ended_with(7))
    async with hand.fleet(devices=3) as fleet:
        name = await hand.bound("slot-00.1")
        await hand.write(name, status(booting, not_yet, phase="Pending"))
        await hand.write(await hand.running("slot-01.1"), status(worker=restarting))
        await hand.made("slot-02.1")
        await until(lambda: states(fleet) == ["starting", "running", "starting"])
        await fleet.leave()
    before = {pod["metadata"]["uid"] for pod in await hand.pods()}
    async with hand.backend().resources(hand.logs.parent, print, adopt=True) as resources:
        assert await resources.living() == ("slot-00.1", "slot-01.1", "slot-02.1")
    async with hand.fleet(devices=3, adopt=True) as fleet:
        await hand.write(name, status())
        await until(lambda: states(fleet)[0] == "running")
        assert {pod["metadata"]["uid"] for pod in await hand.pods()} == before


async def a_pod_that_was_left(hand: PodsByHand) -> str:
    """By a coordinator that was asked to stop, with its device at work."""
    async with hand.fleet() as fleet:
        name = await hand.running("slot-00.1")
        await until(lambda: states(fleet) == ["running"])
        await fleet.leave()
    return name


@pytest.mark.parametrize(
    ("reason", "cause", "code"),
    [
        ("DeletionByTaintManager", Cause.NODE_LOST, None),
        ("EvictionByEvictionAPI", Cause.EVICTED, 0),
    ],
)
async def test_a_device_that_was_taken_while_nobody_watched_is_lost_by_the_cause_on_record(
    hand: PodsByHand, reason: str, cause: Cause, code: int | None
) -> None:
    """Its Pod is about to go, and its worker has left or is on a node that nobody reaches; once it
    is gone, nobody knows why."""
    name = await a_pod_that_was_left(hand)
    worker = None if code is None else container("worker", ended_with(code))
    await hand.write(name, status(worker=worker, conditions=[now_disrupted(reason)]))
    await hand.api.delete(PODS, name, 30)
    async with hand.backend().resources(hand.logs.parent, print, adopt=True) as resources:
        assert await resources.living() == ()
        assert (await resources.describe_loss("slot-00.1")).cause is cause
        assert reason in (hand.logs / "slot-00.1.pod.json").read_text()
        await hand.api.delete(PODS, name, 0)
        assert (await resources.describe_loss("slot-00.1")).cause is Cause.REMOVED


async def test_a_worker_that_seals_while_its_coordinator_comes_back_has_its_time(
    hand: PodsByHand,
) -> None:
    """Its Pod was told to go; its lease ends with it, and not before."""
    name = await a_pod_that_was_left(hand)
    hand.dead_nodes.add("node-x")  # nobody confirms its end before its worker has left
    target = now_disrupted("EvictionByEvictionAPI")
    await hand.write(name, status(conditions=[target, condition("Ready", "")]))
    await hand.api.delete(PODS, name, 30)
    async with hand.backend().resources(hand.logs.parent, print, adopt=True) as resources:
        assert await resources.living() == ("slot-00.1",)
    async with hand.fleet(adopt=True):
        await hand.write(
            name, status(worker=container("worker", ended_with(0)), conditions=[target])
        )
        hand.dead_nodes.clear()
        fact = await hand.fact()
        assert (fact.device, fact.kind, fact.cause) == ("slot-00.1", "device_lost", Cause.EVICTED)
        await hand.made("slot-00.2")


async def test_a_device_that_ended_while_nobody_watched_is_lost_by_its_own_cause(
    hand: PodsByHand,
) -> None:
    """Its Pod lives, its worker runs and the kubelet starts it again."""
    name = await a_pod_that_was_left(hand)
    await hand.write(name, lost_device(137, "OOMKilled"))
    async with hand.fleet(adopt=True):
        fact = await hand.fact()
        lost = ("slot-00.1", "device_lost", Cause.OUT_OF_MEMORY)
        assert (fact.device, fact.kind, fact.cause) == lost
        await hand.made("slot-00.2")


async def test_an_adopted_device_whose_pod_goes_before_it_is_looked_at_is_not_made_again(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is never given twice."""
    name = await a_pod_that_was_left(hand)
    answers = PodWatch.answers

    async def too_late(watch: PodWatch) -> None:
        if await hand.api.get(PODS, name) is not None:
            await hand.api.delete(PODS, name, 0)
            await until_gone(hand, name)
        await answers(watch)

    monkeypatch.setattr(PodWatch, "answers", too_late)
    async with hand.fleet(adopt=True):
        fact = await hand.fact()
        lost = ("slot-00.1", "device_lost", Cause.REMOVED)
        assert (fact.device, fact.kind, fact.cause) == lost
        await hand.made("slot-00.2")
        assert name not in await pod_names(hand)


async def until_gone(hand: PodsByHand, name: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await hand.api.get(PODS, name) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


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


def refusal(hand: PodsByHand) -> str:
    """What the server says to a Pod of this run."""
    about = {"name": "probe", "labels": {names.RUN: hand.run}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": hand.template["spec"]}
    with hand.access.client() as http:
        return http.post(f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", json=pod).text


async def test_a_quota_is_waited_for(hand: PodsByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.NOTICE_S", 0.1)
    hand.pending_s = 3.0
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }  # fmt: skip
    await hand.api.create(QUOTAS, quota)
    # It counts once the server has computed it and its admission has seen that.
    await until(lambda: "exceeded quota" in refusal(hand))
    try:
        async with hand.fleet() as fleet:
            await ended(fleet)
            assert states(fleet) == ["given_up"]
    finally:
        await hand.api.delete(QUOTAS, "none")
    assert any("exceeded quota" in line for line in hand.notices)
    fact = await hand.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.UNSCHEDULABLE)


async def test_a_pod_that_cannot_be_made_although_the_server_answers_has_the_pending_time(
    hand: PodsByHand, farm: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An admission webhook that fails is answered with 500; the server's words are told."""
    monkeypatch.setattr("orchestrator.fleet.kubernetes.pair_start.NOTICE_S", 0.1)
    hand.pending_s = 3.0
    chosen = {"matchLabels": {names.RUN: hand.run}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    webhook = {
        "name": "away.example.org", "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [{**rule, "resources": ["pods"]}], "objectSelector": chosen,
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
    }  # fmt: skip
    kind = "ValidatingWebhookConfiguration"
    farm.apply({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": hand.run}, "webhooks": [webhook],
    })  # fmt: skip
    await until(lambda: "failed calling webhook" in refusal(hand))
    try:
        async with hand.fleet() as fleet:
            await ended(fleet)
            assert states(fleet) == ["given_up"]
    finally:
        farm.kubectl("delete", kind, hand.run)
    assert any("waits" in line and "failed calling webhook" in line for line in hand.notices)
    fact = await hand.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.ENGINE_AWAY)


async def test_a_secret_that_a_quota_had_no_time_to_count_is_made_all_the_same(
    hand: PodsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a 409 does not say that it exists."""
    create, refused = KubernetesApi.create, ClusterRefused(409, "try again", "Conflict")
    refusals = [refused]

    async def conflicting(api: KubernetesApi, kind: ObjectKind, body: Json) -> Json:
        if kind == SECRETS and refusals:
            raise refusals.pop()
        return await create(api, kind, body)

    monkeypatch.setattr(KubernetesApi, "create", conflicting)
    async with hand.fleet():
        name = await hand.made("slot-00.1")
        assert await hand.api.get(SECRETS, name) is not None
    assert refusals == []
    assert hand.facts.empty()


async def test_a_refusal_has_the_servers_word_for_it(hand: PodsByHand) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": hand.run}}
    await hand.api.create(SECRETS, secret)
    try:
        with pytest.raises(ClusterRefused) as found:
            await hand.api.create(SECRETS, secret)
    finally:
        await hand.api.delete(SECRETS, hand.run)
    assert (found.value.status, found.value.exists, found.value.passing) == (409, True, False)


async def test_a_pod_that_admission_refuses_is_refused_with_its_sentence(hand: PodsByHand) -> None:
    hand.template["spec"]["hostNetwork"] = True
    async with hand.fleet() as fleet:
        await ended(fleet)
        assert states(fleet) == ["given_up"]
    fact = await hand.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.CONFIG_ERROR)
    assert "PodSecurity" in fact.text


@pytest.fixture
def late(hand: PodsByHand, farm: Cluster, tmp_path: Path) -> Iterator[str]:
    """The fleet's user may look, and nothing more until another Role is bound to it."""
    user = f"late-{uuid.uuid4().hex[:6]}"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules,
        "metadata": {"name": "looks", "namespace": NAMESPACE},
    }  # fmt: skip
    farm.apply(role)
    write_kubeconfig(farm, tmp_path / "config", user, "looks")
    hand.access = kubeconfig_access(kubeconfig=tmp_path / "config")
    yield user
    farm.kubectl("delete", "serviceaccount", user, "-n", "default")
    bound = [f"rolebinding/{user}-{name}" for name in ("looks", "emufarm-coordinator")]
    farm.kubectl("delete", "role/looks", *bound, "-n", NAMESPACE, "--ignore-not-found")


async def test_an_api_server_that_does_not_know_its_roles_yet_is_waited_for(
    hand: PodsByHand, late: str, farm: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was just started forbids everything, for a moment."""
    refusals: list[ClusterRefused] = []

    def forbidden(error: ClusterRefused) -> bool:
        refusals.append(error)
        return is_forbidden(error)

    monkeypatch.setattr(pair, "is_forbidden", forbidden)
    async with hand.fleet() as fleet:
        await until(lambda: bool(refusals))
        await asyncio.to_thread(bind, farm, late, "emufarm-coordinator")
        await hand.running("slot-00.1")
        await until(lambda: states(fleet) == ["running"])
    assert hand.facts.empty()


async def test_a_fleet_without_rights_is_given_up_with_the_sentence(
    hand: PodsByHand, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair, "FORBIDDEN_S", 0.1)
    async with hand.fleet() as fleet:
        await ended(fleet)
        assert states(fleet) == ["given_up"]
    fact = await hand.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.CONFIG_ERROR)
    assert f"default:{late}" in fact.text


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
