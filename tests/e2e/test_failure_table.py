"""Every row of the table of Pod failures, as a real API server has it, has its cause in the fleet.

The rows are those of test_pod_status.py: what the reading of a Pod's status makes of a row, a fleet
makes of a Pod that a server keeps.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from orchestrator.fleet.kubernetes.api import PODS, Json
from orchestrator.fleet.kubernetes.farm_run import timestamp
from orchestrator.fleet.kubernetes.pod_status import read_pod
from orchestrator.outcome import DISRUPTIONS, Cause
from tests.e2e.pods_by_hand import (
    IMAGE,
    RUNNING,
    PodsByHand,
    condition,
    container,
    ended_with,
    status,
)
from tests.e2e.test_kubernetes_fleet import farm, hand
from tests.fleet.contract import ended, states, until
from tests.fleet.test_pod_status import ENDS, GONE, WAITS

__all__ = ["farm", "hand"]

pytestmark = pytest.mark.kubernetes


def written(made: Json) -> Json:
    """A row's status, for a Pod of today whose containers run what was asked for."""
    state: Json = copy.deepcopy(made["status"])
    for one in state.get("conditions", ()):
        # The cluster takes back what was said minutes ago of a Pod that is still there.
        one["lastTransitionTime"] = timestamp()
    for one in (*state.get("initContainerStatuses", ()), *state.get("containerStatuses", ())):
        one |= {"imageID": IMAGE, "image": IMAGE}
    return state


def named(rows: list[Any]) -> list[Any]:
    """With the words that a row has as its name."""
    return [pytest.param(*row, id=row[-1][:60]) for row in rows]


@pytest.mark.parametrize(("made", "cause", "words"), named(GONE))
async def test_a_pod_that_goes_has_a_cause_and_is_replaced(
    hand: PodsByHand, made: Json, cause: Cause, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its whole status is kept, because the cluster forgets it, unless it is gone before. What its
    kubelet rejects never started."""
    deleted = "deletionTimestamp" in made["metadata"]
    admitted = "containerStatuses" in made["status"]
    if cause is Cause.NODE_LOST:
        hand.dead_nodes.add("node-x")
    monkeypatch.setattr("orchestrator.fleet.slot.LONGEST_HOST_PAUSE_S", 0.0)
    # A slot that has one start has another one where a loss is free.
    async with hand.fleet(starts=1 if cause in DISRUPTIONS else 2) as fleet:
        name = await (hand.running if admitted else hand.bound)("slot-00.1")
        await hand.write(name, written(made))
        if deleted:
            await hand.api.delete(PODS, name)
        fact = await hand.fact()
        kind = "device_lost" if admitted else "device_not_started"
        assert (fact.kind, fact.device, fact.exit_code) == (kind, "slot-00.1", None)
        assert (fact.cause, fact.text.partition("\n")[0]) == (cause, words)
        await hand.running("slot-00.2", "node-y")
        await until(lambda: states(fleet) == ["running"])
        kept = hand.folder.parent / hand.run / "logs" / "slot-00.1.pod.json"
        assert deleted or kept.exists()
    assert hand.facts.empty()


@pytest.mark.parametrize(
    "by", ["WorkloadEvicted", "WorkloadDeleted", "NoMatchingWorkload", "NotAdmitted"]
)
async def test_a_queue_that_takes_a_pod_back_preempts_it(hand: PodsByHand, by: str) -> None:
    async with hand.fleet():
        name = await hand.running("slot-00.1")
        target = condition("TerminationTarget", by) | {"lastTransitionTime": timestamp()}
        await hand.write(name, status(conditions=[target]))
        await hand.api.delete(PODS, name)
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", Cause.PREEMPTED)
        await hand.made("slot-00.2")


@pytest.mark.parametrize(
    ("state", "cause", "code", "words"),
    named([*ENDS, (ended_with(126), Cause.CONFIG_ERROR, 126, "the device's container ended with")]),
)
async def test_a_device_that_ends_has_a_cause_and_is_replaced_where_that_helps(
    hand: PodsByHand, state: Json, cause: Cause, code: int | None, words: str
) -> None:
    """The kubelet has started it again in its Pod, and its worker has not noticed yet."""
    async with hand.fleet() as fleet:
        name = await hand.running("slot-00.1")
        await hand.write(name, status(container("device", RUNNING, restarts=1, last=state)))
        fact = await hand.fact()
        assert (fact.kind, fact.device) == ("device_lost", "slot-00.1")
        assert (fact.cause, fact.exit_code) == (cause, code or None)
        assert fact.text.startswith(words)
        if cause is Cause.CONFIG_ERROR:  # another device would end as it did
            await ended(fleet)
            assert (await hand.fact()).kind == "slot_given_up"
        else:
            await hand.running("slot-00.2")
            await until(lambda: states(fleet) == ["running"])
    assert hand.facts.empty()


@pytest.mark.parametrize(
    ("worker", "cause"),
    [
        (ended_with(0, "Completed"), Cause.UNKNOWN),  # no code of its worker's
        (ended_with(0, "Completed", "143"), Cause.STORAGE),  # nobody asked it to stop
        (ended_with(0, "Completed", "3"), Cause.UNUSABLE),
    ],
)
async def test_a_pod_that_succeeds_before_all_is_decided_is_a_loss(
    hand: PodsByHand, worker: Json, cause: Cause
) -> None:
    async with hand.fleet():
        succeeded = status(worker=container("worker", worker), phase="Succeeded")
        await hand.write(await hand.running("slot-00.1"), succeeded)
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", cause)
        await hand.made("slot-00.2")


@pytest.mark.parametrize(
    ("made", "cause", "words"), named([row for row in WAITS if row[1] is not Cause.UNKNOWN])
)
async def test_a_pod_that_does_not_start_is_given_up_with_its_cause(
    hand: PodsByHand, made: Json, cause: Cause, words: str
) -> None:
    """At once where no other Pod would do better, else when its time is over."""
    hopeless = cause is Cause.CONFIG_ERROR
    hand.pending_s = 600.0 if hopeless else 1.9
    view = read_pod(made)
    async with hand.fleet(starts=1) as fleet:
        node = made["spec"].get("nodeName")
        name = await (hand.bound if node else hand.made)("slot-00.1")
        await hand.write(name, written(made))
        await ended(fleet)
        assert states(fleet) == ["given_up"]
    fact = await hand.fact()
    kind = "worker_lost" if view.worker_ends else "device_not_started"
    assert (fact.kind, fact.cause) == (kind, cause)
    if not view.worker_ends and not view.device_ends:  # else the words are those of that end
        assert words in fact.text


async def test_another_pod_of_the_same_name_is_no_device(hand: PodsByHand) -> None:
    """Its uid is another, so the state of its device is lost."""
    async with hand.fleet() as fleet:
        name = await hand.running("slot-00.1")
        pod = await hand.api.get(PODS, name)
        assert pod is not None
        await until(lambda: states(fleet) == ["running"])
        await hand.api.delete(PODS, name, 0)
        about = {key: pod["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        # The server has written into these what it would refuse to be sent.
        written_into = ("nodeName", "topologySpreadConstraints")
        spec = {key: value for key, value in pod["spec"].items() if key not in written_into}
        await hand.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": about,
                                     "spec": spec})  # fmt: skip
        fact = await hand.fact()
        assert (fact.kind, fact.cause) == ("device_lost", Cause.REMOVED)
        await hand.made("slot-00.2")
