"""A Pod of a fleet that does not start: what is waited for, for how long, and what is said."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

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
from orchestrator.fleet.kubernetes.pair import is_forbidden
from orchestrator.outcome import Cause
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import bind, write_kubeconfig
from tests.e2e.pods_by_hand import (
    NAMESPACE,
    RUNNING,
    PodsByHand,
    condition,
    container,
    ended_with,
    left_with,
    status,
)
from tests.e2e.test_kubernetes_fleet import (
    disrupted,
    farm,
    hand,
    lost_device,
    pod_names,
)
from tests.fleet.contract import ended, states, until

__all__ = ["farm", "hand"]
pytestmark = pytest.mark.kubernetes
QUOTAS = ObjectKind("api/v1", "resourcequotas")


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
