"""Is this plan one that its own cases and seed make?

Its digest says that it is the plan that was run. This says that nobody chose the values: each case
has the digest of what it says, and each episode the seed that the global seed draws for it, once.
"""

from __future__ import annotations

from collections import Counter

from pydantic import ValidationError

from ...cases.load import case_digest
from ...cases.model import Case
from ...plan.build import episode
from ...plan.plan import Plan, PlannedCase
from ...plan.store import FILE


def planned(plan: Plan) -> list[str]:
    """What does not follow, a sentence each."""
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
            problems.append(f"{FILE}: {each.id} is of no case and variant that are planned")
        elif not 1 <= each.repeat <= plan.repeats:
            problems.append(f"{FILE}: {each.id} is beyond {plan.repeats} repeats")
        elif each != episode(case, each.variant, each.repeat, plan.seed):
            problems.append(f"{FILE}: {each.id} is not what its case and the seed come to")
    return problems


def _case(planned: PlannedCase) -> Case:
    """ValueError where it is not the case that its id and digest are of."""
    try:
        case = Case.model_validate(planned.case)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"it is no case: {where}: {first['msg']}") from error
    if case.id != planned.id or case_digest(case, planned.site) != planned.digest:
        raise ValueError("its digest is not that of the case")
    return case
