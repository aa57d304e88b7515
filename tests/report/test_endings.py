"""Two runs are equal if every episode ended equally and every oracle read equal facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.plan.plan import Plan
from orchestrator.report.endings import Ending, EndingDifference, comparable, compare
from tests.coordinator.runs import a_plan

READ = {"sent (pre)": "00", "sent (post)": "11"}
GOOD = Ending("success", frozenset(), READ)


def test_equal_endings_are_the_same() -> None:
    compared = compare({"a": GOOD, "b": GOOD}, {"a": GOOD, "b": GOOD})
    assert (compared.same, compared.episodes) == (True, 2)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (replace(GOOD, outcome="task_failed"), ("outcome", "success", "task_failed")),
        (replace(GOOD, violations=frozenset({"leak"})), ("violations", "none", "leak")),
        (replace(GOOD, results={**READ, "sent (post)": "12"}), ("sent (post)", "11", "12")),
        (replace(GOOD, results={"sent (post)": "11"}), ("sent (pre)", "00", "not asked")),
    ],
)
def test_every_difference_is_named(other: Ending, difference: tuple[str, str, str]) -> None:
    compared = compare({"a": GOOD, "b": GOOD}, {"a": GOOD, "b": other})
    assert compared.same is False
    assert compared.differences == (EndingDifference("b", *difference),)


@pytest.mark.parametrize("outcome", ["infra_failed", "undecided"])
def test_what_infrastructure_took_is_neither_equal_nor_different(outcome: str) -> None:
    lost = {"a": GOOD, "b": Ending(outcome)}
    assert compare({"a": GOOD, "b": GOOD}, lost).same is None
    assert compare(lost, lost).unknown == ("b",)
    different = {"a": replace(GOOD, outcome="task_failed"), "b": Ending(outcome)}
    assert compare({"a": GOOD, "b": GOOD}, different).same is False


def test_only_what_both_have_is_compared_and_the_rest_is_named() -> None:
    compared = compare({"a": GOOD, "b": GOOD}, {"b": GOOD})
    assert (compared.same, compared.episodes, compared.missing) == (True, 1, ("a",))


def changed(plan: Plan, what: str) -> Plan:
    match what:
        case "profile":
            return replace(plan, profile_digest="1" * 64)
        case "agent":
            return replace(plan, agent="idle")
        case "version":
            cases = (replace(plan.cases[0], digest="1" * 64), *plan.cases[1:])
            return replace(plan, cases=cases)
        case "seed":
            episodes = (replace(plan.episodes[0], seed=8), *plan.episodes[1:])
            return replace(plan, episodes=episodes)
        case _:
            return replace(plan, episodes=(replace(plan.episodes[0], id="other.benign.1"),))


@pytest.mark.parametrize("what", ["profile", "agent", "version", "seed", "in common"])
def test_runs_that_ask_different_things_are_not_compared(what: str) -> None:
    comparable(a_plan(2), a_plan(2))
    with pytest.raises(UsageError, match=what):
        comparable(a_plan(2), changed(a_plan(2), what))
