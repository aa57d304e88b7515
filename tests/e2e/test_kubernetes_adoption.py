"""Pods outlive their coordinator, and the next one adopts them, whatever happened meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from orchestrator.fleet.kubernetes.api import (
    PODS,
)
from orchestrator.fleet.kubernetes.watch import PodWatch
from orchestrator.outcome import Cause
from tests.e2e.pods_by_hand import (
    RUNNING,
    PodsByHand,
    condition,
    container,
    ended_with,
    left_with,
    status,
)
from tests.e2e.test_kubernetes_fleet import (
    farm,
    hand,
    lost_device,
    now_disrupted,
    pod_names,
)
from tests.fleet.contract import PATIENCE_S, ended, states, until

__all__ = ["farm", "hand"]
pytestmark = pytest.mark.kubernetes


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
