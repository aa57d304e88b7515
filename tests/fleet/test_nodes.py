"""Nodes that are avoided: whose fault counts, and when."""

from __future__ import annotations

import pytest

from orchestrator.fleet.kubernetes.nodes import NodeHistory
from orchestrator.outcome import Cause


def faults(cause: Cause, count: int) -> NodeHistory:
    history = NodeHistory()
    for _ in range(count):
        history.fault("node-a", cause)
    return history


@pytest.mark.parametrize(
    "cause",
    [
        Cause.START_TIMEOUT, Cause.RUNTIME_ERROR, Cause.CRASHED, Cause.KILLED, Cause.REJECTED,
        Cause.EXITED, Cause.UNUSABLE, Cause.NODE_LOST,
    ],
)  # fmt: skip
def test_a_node_is_avoided_after_three_faults_that_may_be_its_own(cause: Cause) -> None:
    assert faults(cause, 2).avoided == frozenset()
    history = faults(cause, 2)
    assert history.fault("node-a", cause)
    assert history.avoided == {"node-a"}
    assert not history.fault("node-a", cause)  # it is told once


@pytest.mark.parametrize(
    "cause",
    [
        Cause.PREEMPTED, Cause.REMOVED, Cause.ASKED_TO_STOP, Cause.EVICTED, Cause.NODE_SHUTDOWN,
        Cause.OUT_OF_MEMORY, Cause.STORAGE, Cause.DEADLINE, Cause.CONFIG_ERROR,
    ],
)  # fmt: skip
def test_what_others_did_is_no_fault_of_a_node(cause: Cause) -> None:
    assert faults(cause, 9).avoided == frozenset()


def test_a_node_that_works_begins_anew() -> None:
    history = faults(Cause.CRASHED, 2)
    history.worked("node-a")
    assert not history.fault("node-a", Cause.CRASHED)
