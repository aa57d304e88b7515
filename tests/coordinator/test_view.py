"""The remaining time is shown once this run has shown its pace."""

from __future__ import annotations

from orchestrator.coordinator.state import State
from orchestrator.coordinator.view import eta
from tests.coordinator.runs import INFRA, SUCCESS
from tests.coordinator.test_schedule import a_state, end, lease


def took(state: State, device: str, seconds: float, judgement: dict[str, object]) -> None:
    times = {"started_ms": 0, "ended_ms": int(seconds * 1000)}
    end(state, lease(state, device), {**judgement, **times})


def test_no_time_is_left_to_tell_before_every_device_had_an_attempt() -> None:
    state = a_state(6)
    assert eta(state, 0) is None
    lease(state, "a")
    assert eta(state, 0) is None
    took(state, "b", 5, SUCCESS)
    assert eta(state, 0) is None


def test_an_attempt_that_was_cut_short_measures_nothing() -> None:
    state = a_state(2)
    took(state, "a", 0.1, INFRA)
    lease(state, "a")
    assert eta(state, 0) is None


def test_the_time_left_is_what_was_expected_at_the_pace_of_this_run() -> None:
    """Ten seconds were expected of each, and the first took five."""
    state = a_state(4)
    took(state, "a", 5, SUCCESS)
    lease(state, "a", 100)
    assert eta(state, 100) == 15
    assert eta(state, 102) == 13


def test_nothing_is_left_of_a_run_that_is_decided() -> None:
    state = a_state(1)
    took(state, "a", 5, SUCCESS)
    assert eta(state, 0) == 0
