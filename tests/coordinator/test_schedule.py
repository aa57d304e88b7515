"""Scheduling decisions: which worker gets which episode, and what follows. Pure."""

from __future__ import annotations

from typing import Any

from orchestrator.coordinator import schedule
from orchestrator.coordinator.messages import DeviceRetired, NothingToLease, RunFinished
from orchestrator.coordinator.state import State, apply, mark_seen, new_state, renew
from orchestrator.coordinator.transitions import (
    AttemptFenced,
    DeviceLost,
    DeviceStarted,
    EpisodeDecided,
    LeaseGranted,
    SegmentOpened,
)
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.outcome import OracleResults, Outcome, Phase, Reason, Trouble
from tests.coordinator.runs import INFRA, SUCCESS, a_plan, judged, word

TASK_FAILED = judged(OracleResults(success=False, held_before=False))
LOST_GUEST = judged(trouble=Trouble(Phase.AGENT, Reason.DEVICE_LOST, "offline", acted=True))


def a_state(cases: int = 2, repeats: int = 1, expected: dict[str, float] | None = None) -> State:
    plan = a_plan(cases, repeats)
    seconds = {episode.id: episode.expected_s for episode in plan.episodes}
    return new_state(plan.episodes, {**seconds, **(expected or {})}, lease_s=30, attempts=3)


def lease(state: State, device: str, now: float = 0.0) -> LeaseGranted:
    decision = ask(state, device, now)
    assert isinstance(decision, LeaseGranted), decision
    apply(state, decision, now)
    return decision


def ask(state: State, device: str, now: float = 0.0) -> object:
    mark_seen(state, device, now)
    nonce = str(len(state.granted))
    return schedule.grant(state, f"worker-{device}", device, nonce, nonce, now)


def conclude(state: State, granted: LeaseGranted) -> EpisodeDecided | None:
    decided = schedule.decision_due(state, granted.episode)
    if decided is not None:
        apply(state, decided, 0)
    quarantined = schedule.quarantine_due(state, granted.device)
    if quarantined is not None:
        apply(state, quarantined, 0)
    return decided


def end(state: State, granted: LeaseGranted, fields: dict[str, Any]) -> EpisodeDecided | None:
    told = word(granted.episode, granted.attempt, granted.device, **fields)
    record = AttemptRecord.model_validate(told)
    apply(state, schedule.bundle_stored(state, granted.token, record, "0" * 64, "b", 9), 0)
    return conclude(state, granted)


def test_the_longest_expected_goes_first_and_ties_keep_the_plans_order() -> None:
    state = a_state(4, expected={"case_2.benign.0": 99.0})
    order = [lease(state, f"d{number}").episode for number in range(4)]
    assert order == [f"case_{number}.benign.0" for number in (2, 0, 1, 3)]


def test_a_retry_goes_back_to_its_place() -> None:
    state = a_state(3, expected={"case_1.benign.0": 99.0})
    end(state, lease(state, "a"), INFRA)
    assert next(iter(state.pending)) == "case_1.benign.0"


def test_only_infrastructure_earns_another_attempt() -> None:
    for fields in (SUCCESS, TASK_FAILED, LOST_GUEST):
        state = a_state(1)
        decided = end(state, lease(state, "a"), fields)
        assert decided is not None
        assert decided.judgement.outcome == fields["judgement"]["outcome"]
        assert state.finished


def test_infrastructure_has_three_attempts_and_then_the_last_decides() -> None:
    state = a_state(1)
    for device in ("a", "b"):
        assert end(state, lease(state, device), INFRA) is None
    decided = end(state, lease(state, "c"), INFRA)
    assert decided is not None
    assert (decided.judgement.outcome, decided.attempt) == (Outcome.INFRA_FAILED, 3)


def test_a_retry_waits_for_a_live_device_that_has_not_tried_it() -> None:
    state = a_state(1)
    mark_seen(state, "b", 0)
    end(state, lease(state, "a"), INFRA)
    assert isinstance(ask(state, "a"), NothingToLease)
    assert lease(state, "b").attempt == 2


def test_a_device_that_is_not_heard_any_more_is_not_waited_for() -> None:
    state = a_state(1)
    mark_seen(state, "b", 0)
    end(state, lease(state, "a"), INFRA)
    assert isinstance(ask(state, "a", 29.0), NothingToLease)
    assert lease(state, "a", 31.0).attempt == 2


def test_the_only_device_may_try_again() -> None:
    state = a_state(1)
    end(state, lease(state, "a"), INFRA)
    assert lease(state, "a").attempt == 2


def test_when_all_have_tried_it_is_not_the_last_ones_turn() -> None:
    state = a_state(1)
    mark_seen(state, "b", 0)
    end(state, lease(state, "a"), INFRA)
    end(state, lease(state, "b"), INFRA)
    assert isinstance(ask(state, "b"), NothingToLease)
    assert lease(state, "a").attempt == 3


def test_a_returned_lease_never_happened() -> None:
    state = a_state(1)
    first = lease(state, "a")
    apply(state, schedule.lease_returned(state.leases[first.token], "SIGTERM"), 0)
    second = lease(state, "a")
    assert (second.episode, second.attempt) == (first.episode, first.attempt)
    assert second.token != first.token
    assert state.devices["a"].infra == 0


def test_a_lease_that_is_not_renewed_is_a_lost_attempt() -> None:
    state = a_state(1)
    granted = lease(state, "a", 0)
    assert renew(state, granted.token, 20)
    assert schedule.expired(state, 49) == []
    assert schedule.expired(state, 50, spared=[granted.token]) == []
    (lost,) = schedule.expired(state, 50)
    judgement = lost.judgement
    assert (judgement.reason, judgement.outcome) == (Reason.LEASE_EXPIRED, Outcome.INFRA_FAILED)
    assert not judgement.violations_known
    apply(state, lost, 50)
    assert not renew(state, granted.token, 50)
    assert state.pending


def test_a_late_bundle_is_fenced_and_changes_nothing() -> None:
    state = a_state(1)
    late = lease(state, "a")
    apply(state, schedule.attempt_lost(state.leases[late.token], Reason.WORKER_LOST, "", 0), 0)
    record = AttemptRecord.model_validate(word(late.episode, 1, "a"))
    event = schedule.bundle_stored(state, late.token, record, "0" * 64, "b", 9)
    assert isinstance(event, AttemptFenced)
    apply(state, event, 0)
    assert schedule.decision_due(state, late.episode) is None
    assert lease(state, "b").attempt == 2


def test_three_episodes_in_a_row_quarantine_a_device() -> None:
    state = a_state(4)
    mark_seen(state, "b", 0)
    for _ in range(3):
        end(state, lease(state, "a"), INFRA)
    assert isinstance(ask(state, "a"), DeviceRetired)
    assert not schedule.stuck(state)


def test_a_success_between_breaks_the_row() -> None:
    state = a_state(6)
    mark_seen(state, "b", 0)
    for fields in (INFRA, INFRA, SUCCESS, INFRA, INFRA):
        end(state, lease(state, "a"), fields)
    assert not state.devices["a"].quarantined


def test_one_bad_case_blames_no_device() -> None:
    """All its repeats fail on the only device, and the other cases are still run there."""
    state = a_state(2, repeats=3, expected={f"case_0.benign.{n}": 99.0 for n in range(3)})
    for _ in range(9):
        granted = lease(state, "a")
        assert granted.episode.startswith("case_0")
        end(state, granted, INFRA)
    end(state, lease(state, "a"), SUCCESS)
    assert not state.devices["a"].quarantined


def test_a_run_whose_every_device_is_in_quarantine_is_stuck_until_it_is_resumed() -> None:
    state = a_state(4)
    while not state.devices.get("a") or not state.devices["a"].quarantined:
        end(state, lease(state, "a"), INFRA)
    assert schedule.stuck(state)
    apply(state, SegmentOpened(claim=1, sealed=None), 0)
    assert not schedule.stuck(state)
    lease(state, "a")


def lose(state: State, device: str, reason: Reason) -> None:
    apply(state, DeviceLost(device=device, reason=reason, text="its node is gone"), 0.0)


def test_a_lost_device_gets_no_lease_until_it_starts_again() -> None:
    """Its worker may live on where nobody reaches it, beside the device in its place."""
    state = a_state()
    lose(state, "a", Reason.HOST_LOST)
    assert ask(state, "a") == DeviceRetired("this device was lost: its node is gone")
    assert list(schedule.live(state, 0.0)) == []
    apply(state, DeviceStarted(device="a", report_id="2"), 0.0)
    assert isinstance(ask(state, "a"), LeaseGranted)


def test_a_device_whose_worker_was_lost_goes_on_with_the_next_one() -> None:
    state = a_state()
    lose(state, "a", Reason.WORKER_LOST)
    assert isinstance(ask(state, "a"), LeaseGranted)


def test_workers_leave_when_every_episode_is_decided_not_when_none_is_left_to_lease() -> None:
    state = a_state(1)
    granted = lease(state, "a")
    assert isinstance(ask(state, "b"), NothingToLease)
    end(state, granted, SUCCESS)
    assert isinstance(ask(state, "b"), RunFinished)
