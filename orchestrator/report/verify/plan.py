"""Verifies a plan against itself: its cases have their digests, its episodes their seeds.

The plan's digest proves that this plan was run. These checks prove that nobody chose the values:
each case has the digest of its content, and each episode is planned once, with the seed that the
global seed gives.
"""

from __future__ import annotations

from collections import Counter

from pydantic import ValidationError

from ...cases.load import case_digest
from ...cases.model import Case
from ...plan.plan import Plan, PlannedCase, episode
from ...plan.store import FILE


def plan_problems(plan: Plan) -> list[str]:
    """One sentence for each contradiction."""
    problems: list[str] = []
    cases: dict[str, Case] = {}
    for one in plan.cases:
        try:
            cases[one.id] = _case(one)
        except ValueError as error:
            problems.append(f"{FILE}: {one.id}: {error}")
    for id, times in Counter(each.id for each in plan.episodes).items():
        if times > 1:
            problems.append(f"{FILE}: {id} is planned {times} times")
    for each in plan.episodes:
        case = cases.get(each.case)
        if case is None or each.variant not in case.variants:
            problems.append(f"{FILE}: {each.id} has no planned case and variant")
        elif not 1 <= each.repeat <= plan.repeats:
            problems.append(f"{FILE}: {each.id} exceeds {plan.repeats} repeats")
        elif each != episode(case, each.variant, each.repeat, plan.seed):
            problems.append(f"{FILE}: {each.id} does not follow from its case and the seed")
    return problems


def _case(planned: PlannedCase) -> Case:
    """The case; ValueError if its id or digest is another."""
    try:
        case = Case.model_validate(planned.case)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"it is not a valid case: {where}: {first['msg']}") from error
    if case.id != planned.id or case_digest(case, planned.site) != planned.digest:
        raise ValueError("its digest is not that of the case")
    return case
