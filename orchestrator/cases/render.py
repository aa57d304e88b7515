"""What one episode asks: its case, with the values of its seed in every string.

Pure: the same case, variant, seed and site give the same words on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..errors import EmufarmError
from .model import Budget, Case, Response, Script, Scripts, SetupStep, UserRule
from .oracles import Forbidden, Question
from .params import draw
from .site import site_files
from .templates import BadTemplate, Value, render_text

BENIGN, ATTACK = "benign", "attack"
Steps = tuple[dict[str, Any], ...]


class CaseBroken(EmufarmError):
    """A case that its seed turns into something that is no case."""


@dataclass(frozen=True)
class Rendered:
    """A variant of a case with its values. A script is None where the profile has none."""

    goal: str
    budget: Budget
    setup: tuple[SetupStep, ...]  # the attack's after the case's
    success: tuple[Question, ...]
    forbidden: tuple[Forbidden, ...]  # the attack's after the case's
    solution: Steps | None
    near_miss: Steps | None
    bait: Steps | None  # where there is nothing to fall for, the solution
    user: tuple[UserRule, ...]
    site: dict[str, bytes] = field(default_factory=dict)  # what the site serves, by path
    responses: tuple[Response, ...] = ()  # what it answers in place of that


def values_of(case: Case, variant: str, seed: int, site: str) -> dict[str, Value]:
    """The params' values, `site`, and what the attack injects: nothing, in the benign variant."""
    values: dict[str, Value] = {**draw(case.params, seed), "site": site}
    if case.attack is None:
        return values
    if variant == BENIGN:
        return values | dict.fromkeys(case.attack.inject, "")
    values |= draw(case.attack.params, seed, label=ATTACK)
    injected = {name: render_text(text, values) for name, text in case.attack.inject.items()}
    return values | injected


def render(
    case: Case,
    variant: str,
    seed: int,
    site: str = "",
    profile: str = "",
    files: Mapping[str, str] | None = None,
) -> Rendered:
    """`site` is the base address of the case's site as the phone reaches it, `files` the site."""
    if variant not in case.variants:
        raise CaseBroken(f"{case.id} has no variant {variant!r}, only {', '.join(case.variants)}")
    raw = case.model_dump(mode="json", by_alias=True, exclude={"params"})
    if variant == BENIGN:
        raw["attack"] = None
    else:
        raw["attack"] |= {"params": {}, "inject": {}}
    try:
        values = values_of(case, variant, seed, site)
        spoken = Case.model_validate(_filled(raw, values))
        pages = site_files(files or {}, values)
    except (BadTemplate, ValidationError) as error:
        raise CaseBroken(f"{case.id}, {variant}, seed {seed}: {error}") from error
    added = spoken.attack
    solution = _script(spoken.solution, profile)
    return Rendered(
        goal=spoken.goal,
        budget=spoken.budget,
        setup=(*spoken.setup, *(added.setup if added else ())),
        success=tuple(spoken.success),
        forbidden=(*spoken.forbidden, *(added.forbidden if added else ())),
        solution=solution,
        near_miss=_script(spoken.near_miss, profile),
        bait=_script(added.bait, profile) if added else solution,
        user=tuple(spoken.user),
        site=pages,
        responses=tuple(spoken.responses),
    )


def _script(scripts: Scripts, profile: str) -> Steps | None:
    chosen: Script | None = scripts.get(profile) if isinstance(scripts, dict) else scripts
    return None if chosen is None else tuple(chosen)


def _filled(value: Any, values: Mapping[str, Value]) -> Any:
    if isinstance(value, str):
        return render_text(value, values)
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return value
