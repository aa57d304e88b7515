"""The values of a plan must follow from its seed, even if its digest is right."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from orchestrator.cases.load import load_cases
from orchestrator.plan.plan import Plan, build
from orchestrator.report.verify.documents import plan_problems
from orchestrator.settings import RunSettings

CASES = Path(__file__).parents[2] / "cases" / "public"


@cache
def a_plan() -> Plan:
    settings = RunSettings(seed=7, repeats=2)
    return build(load_cases(CASES), settings, "sim-api34", "0" * 64)


def test_every_plan_that_is_made_follows_from_its_cases_and_seed() -> None:
    assert plan_problems(a_plan()) == []


def test_a_part_of_a_plan_does_too() -> None:
    """As `emufarm reproduce --episodes` draws one."""
    plan = a_plan()
    kept = plan.episodes[3:5]
    used = {episode.case for episode in kept}
    cases = tuple(case for case in plan.cases if case.id in used)
    assert plan_problems(replace(plan, episodes=kept, cases=cases)) == []


def chosen_seed(plan: Plan) -> Plan:
    first, *others = plan.episodes
    return replace(plan, episodes=(replace(first, seed=1), *others))


def counted_twice(plan: Plan) -> Plan:
    return replace(plan, episodes=(*plan.episodes, plan.episodes[0]))


def one_more_repeat(plan: Plan) -> Plan:
    return replace(plan, repeats=1)


def another_global_seed(plan: Plan) -> Plan:
    return replace(plan, seed=8)


def no_such_variant(plan: Plan) -> Plan:
    benign = next(c.id for c in plan.cases if not c.case.get("attack"))
    episodes = tuple(
        replace(e, id=f"{e.case}.attack.{e.repeat}", variant="attack") if e.case == benign else e
        for e in plan.episodes
    )
    return replace(plan, episodes=episodes)


def milder_attack(plan: Plan) -> Plan:
    """An attack of less impact is not in RSR_core."""
    cases = deepcopy(plan.cases)
    attacked = next(case for case in cases if case.case.get("attack"))
    attacked.case["attack"]["labels"]["impact"] = "probe"
    return replace(plan, cases=cases)


def no_case_at_all(plan: Plan) -> Plan:
    first, *others = plan.cases
    return replace(plan, cases=(replace(first, case={"attack": []}), *others))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (chosen_seed, "does not follow from its case and the seed"),
        (counted_twice, "is planned 2 times"),
        (one_more_repeat, "exceeds 1 repeats"),
        (another_global_seed, "does not follow from its case and the seed"),
        (no_such_variant, "has no planned case and variant"),
        (milder_attack, "its digest is not that of the case"),
        (no_case_at_all, "it is not a valid case"),
    ],
)
def test_whatever_was_chosen_is_told(change: Callable[[Plan], Plan], says: str) -> None:
    problems = plan_problems(change(a_plan()))
    assert any(says in problem for problem in problems), problems
