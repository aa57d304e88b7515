"""How long a Pod may take to start."""

from __future__ import annotations

import pytest

from orchestrator.fleet.kubernetes.pair_start import StartEnd, StartPatience, WaitNews
from orchestrator.fleet.kubernetes.pod_status import read_pod
from orchestrator.outcome import Cause
from tests.fleet.test_pod_status import (
    NOT_YET,
    RUNNING,
    backing_off,
    condition,
    container,
    pod,
    starting,
    unbound,
)

PENDING_S, BOOT_S = 600.0, 120.0
PULLED = {"imageID": f"r/phone@sha256:{'a' * 64}"}


def judged(made: dict[str, object], *times: float, at_work: bool) -> StartEnd | None:
    """At the last of these times, and looked at at all of them."""
    patience, end = StartPatience(0.0, PENDING_S, BOOT_S), None
    for now in times:
        end = patience.judge(read_pod(made), now, at_work=at_work)
    return end


@pytest.mark.parametrize("at_work", [False, True])
def test_a_container_that_the_runtime_cannot_make_has_20_seconds(at_work: bool) -> None:
    """Also while other devices are at work: they prove nothing for this Pod."""
    made = starting(backing_off("CreateContainerError", "no shim"))
    assert judged(made, 100.0, 119.0, at_work=at_work) is None
    end = judged(made, 100.0, 121.0, at_work=at_work)
    assert end is not None
    assert (end.cause, end.last) == (Cause.RUNTIME_ERROR, False)
    assert "no shim" in end.text


@pytest.mark.parametrize("at_work", [False, True])
def test_an_image_that_cannot_be_pulled_has_the_pending_time(at_work: bool) -> None:
    made = starting(backing_off("ImagePullBackOff", "403"))
    assert judged(made, 0.0, PENDING_S, at_work=at_work) is None
    end = judged(made, 0.0, PENDING_S + 1, at_work=at_work)
    assert end is not None
    assert end.cause is Cause.IMAGE_ERROR


@pytest.mark.parametrize("at_work", [False, True])
def test_a_node_that_cannot_set_a_pod_up_has_the_pending_time(at_work: bool) -> None:
    """Its network or a volume of it: devices that are at work elsewhere prove nothing for it."""
    creating = {"waiting": {"reason": "ContainerCreating"}}
    made = starting(creating)
    made["status"]["conditions"].append(condition("PodReadyToStartContainers", "False"))
    made["status"]["initContainerStatuses"][0]["imageID"] = ""
    assert judged(made, 5.0, PENDING_S, at_work=at_work) is None
    end = judged(made, 5.0, PENDING_S + 6, at_work=at_work)
    assert end is not None
    assert "node-1 has not set it up for 601 s" in end.text or end.last


def test_without_a_node_it_waits_without_limit_while_another_device_is_at_work() -> None:
    made = unbound("Unschedulable", "0/3 nodes")
    assert judged(made, 0.0, 10 * PENDING_S, at_work=True) is None
    end = judged(made, 0.0, PENDING_S + 1, at_work=False)
    assert end is not None
    assert (end.cause, end.last) == (Cause.UNSCHEDULABLE, True)
    assert "for 601 s, and no device is at work" in end.text


def test_avoided_nodes_are_tried_again_after_a_minute_where_no_device_is_at_work() -> None:
    """An autoscaler may bring another node, and devices at work may end."""
    patience = StartPatience(0.0, PENDING_S, BOOT_S)
    assert not patience.without_others(100.0, at_work=False)
    assert not patience.without_others(160.0, at_work=False)
    assert not patience.without_others(900.0, at_work=True)
    assert patience.without_others(901.0, at_work=False)


def test_avoided_nodes_are_tried_before_the_pending_time_is_over() -> None:
    patience = StartPatience(0.0, 30.0, BOOT_S)
    assert not patience.without_others(0.0, at_work=False)
    assert patience.without_others(16.0, at_work=False)


def test_a_phone_boots_from_when_its_image_is_there() -> None:
    device = {**container("device", RUNNING), "started": False}
    made = pod(device, container("worker", NOT_YET), phase="Pending")
    assert judged(made, 500.0, 629.0, at_work=False) is None
    end = judged(made, 500.0, 631.0, at_work=False)
    assert end == StartEnd(Cause.START_TIMEOUT, "the phone was not ready after 130 s")


def booted(worker: dict[str, object]) -> dict[str, object]:
    return pod({**container("device", RUNNING), "started": True}, worker, phase="Pending")


def test_a_phone_that_has_booted_late_has_time_for_its_worker() -> None:
    """The slot has waited for its node and its image for nearly all of the pending time."""
    patience = StartPatience(0.0, PENDING_S, BOOT_S)
    made = booted(container("worker", NOT_YET))
    assert patience.judge(read_pod(made), 620.0, at_work=False) is None
    assert patience.judge(read_pod(made), 620.0 + PENDING_S, at_work=False) is None
    end = patience.judge(read_pod(made), 621.0 + PENDING_S, at_work=False)
    assert end is not None
    assert end.last


def test_what_kept_the_device_from_starting_does_not_count_for_its_worker() -> None:
    patience = StartPatience(0.0, PENDING_S, BOOT_S)
    error = backing_off("CreateContainerError", "no shim")
    assert patience.judge(read_pod(starting(error)), 1.0, at_work=True) is None
    assert (
        patience.judge(read_pod(booted(container("worker", NOT_YET))), 60.0, at_work=True) is None
    )
    worker = booted(container("worker", error))
    assert patience.judge(read_pod(worker), 65.0, at_work=True) is None
    end = patience.judge(read_pod(worker), 86.0, at_work=True)
    assert end is not None
    assert end.cause is Cause.RUNTIME_ERROR


def test_why_it_waits_is_said_once_for_each_reason() -> None:
    patience = StartPatience(0.0, PENDING_S, BOOT_S)
    assert not patience.notice(Cause.UNSCHEDULABLE, "no room", 5.0)
    assert not patience.notice(Cause.UNKNOWN, "it starts", 50.0)
    assert patience.notice(Cause.UNSCHEDULABLE, "no room", 50.0)
    assert not patience.notice(Cause.UNSCHEDULABLE, "no room", 60.0)
    assert patience.notice(Cause.IMAGE_ERROR, "403", 61.0)


def test_of_thousands_that_wait_for_the_same_one_a_minute_says_so() -> None:
    news = WaitNews()
    assert [news.is_news("no room", 0.01 * number) for number in range(5000)].count(True) == 1
    assert news.is_news("403", 50.0)
    assert not news.is_news("no room", 59.0)
    assert news.is_news("no room", 61.0)
