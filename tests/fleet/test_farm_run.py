"""The status of a FarmRun: counts from the coordinator's view, conditions that keep their time."""

from __future__ import annotations

from typing import Any

from orchestrator.fleet.kubernetes.farm_run import UNREADABLE, RunStanding, status

T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def view(**more: Any) -> dict[str, Any]:
    counts = {"busy": 1, "idle": 1, "away": 4, "quarantined": 1}
    return {
        "decided": 3, "total": 5, "outcomes": {"success": 2, "task_failed": 1},
        "infra_attempts": 4, "device_counts": counts, "claim": 7, **more,
    }  # fmt: skip


def conditions(body: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {
        one["type"]: (one["status"], one["reason"], one["lastTransitionTime"])
        for one in body["conditions"]
    }


def test_before_there_is_a_coordinator_nothing_is_counted() -> None:
    body = status("a-run", RunStanding(), None, {}, T0)
    assert (body["phase"], body["pulled"]) == ("Pending", False)
    assert "done" not in body
    assert conditions(body) == {
        "Complete": ("False", "Pending", T0),
        "Failed": ("False", "Pending", T0),
    }


def test_counts_are_the_views_and_only_devices_at_work_are_counted() -> None:
    body = status("a-run", RunStanding("Running"), view(), {}, T0)
    counted = {name: body[name] for name in ("done", "decided", "total", "success", "infra")}
    assert counted == {"done": "3/5", "decided": 3, "total": 5, "success": 2, "infra": 4}
    assert (body["devices"], body["claim"]) == (2, 7)


def test_an_ended_run_has_no_devices() -> None:
    for phase in ("Complete", "Failed", "Cancelled"):
        assert status("a-run", RunStanding(phase), view(), {}, T0)["devices"] == 0


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    first = status("a-run", RunStanding("Running"), None, {}, T0)
    second = status("a-run", RunStanding("Complete", "all is decided"), None, first, T1)
    assert conditions(second) == {
        "Complete": ("True", "Complete", T1), "Failed": ("False", "Complete", T0),
    }  # fmt: skip
    third = status("a-run", RunStanding("Complete", "all is decided", T1), None, second, "later")
    assert conditions(third) == conditions(second)
    assert (third["pulled"], third["pulledAt"]) == (True, T1)


def test_a_run_that_goes_on_after_a_pull_is_not_pulled_any_more() -> None:
    """What a merge patch does not name stays: the old time would count for the new evidence."""
    pulled = status("a-run", RunStanding("Failed", "", T0), None, {}, T0)
    resumed = status("a-run", RunStanding("Running"), None, pulled, T1)
    assert (resumed["pulled"], resumed["pulledAt"]) == (False, None)


def test_conditions_say_of_which_generation_they_are() -> None:
    body = status("a-run", RunStanding("Running"), None, {}, T0, 3)
    assert [one["observedGeneration"] for one in body["conditions"]] == [3, 3]


def test_a_run_that_nobody_can_read_says_so_in_its_condition() -> None:
    """A command that follows it need not start another coordinator."""
    found = conditions(status("a-run", RunStanding("Failed", "x", "", UNREADABLE), None, {}, T0))
    assert found["Failed"][:2] == ("True", "Unreadable")


def test_a_cancelled_run_has_failed() -> None:
    found = conditions(status("a-run", RunStanding("Cancelled", "x" * 2000), None, {}, T0))
    assert found["Failed"][:2] == ("True", "Cancelled")
