"""What is at work in a run; nothing is in one that has ended, whatever its journal says."""

from __future__ import annotations

import math

import pytest

from orchestrator.coordinator.state import State, apply, mark_seen, new_state
from orchestrator.coordinator.transitions import (
    DeviceQuarantined,
    DeviceStarted,
    Event,
    LeaseGranted,
)
from orchestrator.metrics.gauges import FleetSlot, FleetView, GaugeValues, VolumeRoom, gauges
from tests.metrics.journals import PLAN

FIRST, SECOND = "slot-00.1", "slot-01.1"
GRANTED = LeaseGranted(
    token="t", episode=PLAN.episodes[0].id, attempt=1, device=FIRST, worker="w", request_id="r"
)


def after(*events: Event) -> State:
    """The state of a run in which both devices have started, and then this happened."""
    expected = {episode.id: 10.0 for episode in PLAN.episodes}
    state = new_state(PLAN.episodes, expected, lease_s=30, attempts=3)
    for device in (FIRST, SECOND):
        apply(state, DeviceStarted(device=device, report_id=device), 0.0)
        mark_seen(state, device, 0.0)
    for event in events:
        apply(state, event, 0.0)
    return state


def shown(state: State, *, wanted: int = 2, over: bool = False) -> GaugeValues:
    slots = [FleetSlot(FIRST, "running"), FleetSlot(SECOND, "running")]
    return gauges(state, 7.0, FleetView(slots, wanted), VolumeRoom(1, 2), 1e9, over=over)


def test_a_lease_that_the_journal_of_an_ended_run_left_open_is_no_device_at_work() -> None:
    """Its coordinator was killed, and another one serves what there is."""
    state = after(GRANTED)
    going = shown(state)
    assert going["devices"][("busy",)] == 1
    assert going["episodes"][("leased",)] == 1
    assert going["oldest_lease_seconds"][()] == 7
    ended = shown(state, over=True)
    assert set(ended["devices"].values()) == {0}
    assert ended["oldest_lease_seconds"][()] == ended["devices_wanted"][()] == 0
    assert math.isnan(ended["eta_seconds"][()])
    assert ended["episodes"] == {
        ("pending",): len(PLAN.episodes), ("leased",): 0, ("decided",): 0,
    }  # fmt: skip


def test_a_run_that_ends_with_every_device_in_quarantine_was_stuck() -> None:
    """So that the alert sees it where both come with one scrape."""
    state = after(*(DeviceQuarantined(device=each, text="lost three") for each in (FIRST, SECOND)))
    assert shown(state)["stuck"][()] == shown(state, over=True)["stuck"][()] == 1


@pytest.mark.parametrize(("asked", "wanted"), [(0, 0), (2, 2), (50, len(PLAN.episodes))])
def test_no_more_devices_are_wanted_than_episodes_are_undecided(asked: int, wanted: int) -> None:
    assert shown(after(), wanted=asked)["devices_wanted"][()] == wanted


def test_when_the_run_was_started_is_told() -> None:
    assert shown(after())["run_start_time_seconds"][()] == 1e9
