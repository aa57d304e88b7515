"""The view counts everything and lists some; the remaining time is shown once it is known."""

from __future__ import annotations

from orchestrator.coordinator.state import DeviceState, State
from orchestrator.coordinator.view import MOST_ROWS, eta, view
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


def test_all_devices_are_counted_and_the_first_that_are_here_are_listed() -> None:
    state, count = a_state(100), MOST_ROWS + 10
    state.devices["aaa.1"] = DeviceState()
    for number in range(count):
        lease(state, f"slot-{number:03d}.1", now=5)
    state.devices["slot-000.1"].quarantined = "three in a row"
    seen = view(state, 7)
    assert seen["device_counts"] == {"busy": count - 1, "idle": 0, "quarantined": 1, "away": 1}
    assert list(seen["devices"]) == [f"slot-{number:03d}.1" for number in range(MOST_ROWS)]
    row = seen["devices"]["slot-001.1"]
    assert (row["state"], row["attempt"], row["lease_age_s"]) == ("busy", 1, 2)
    assert seen["oldest_lease_s"] == 2


def test_a_device_that_is_away_is_listed_where_there_is_room() -> None:
    state = a_state(1)
    state.devices["b"] = DeviceState()
    assert view(state, 0)["devices"]["b"]["state"] == "away"
    assert view(state, 0)["oldest_lease_s"] == 0
