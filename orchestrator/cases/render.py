"""Renders a case variant for one episode: fills the values of its seed into every string.

Pure: the same case, variant, seed and site give the same result on any machine.
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
from .templates import BadTemplate, Renderer

BENIGN, ATTACK = "benign", "attack"
Steps = tuple[dict[str, Any], ...]


class CaseBroken(EmufarmError):
    """A case that is not valid once the values of its seed are filled in. `template` is the one
    that cannot be rendered, where it is one."""

    def __init__(self, text: str, template: str = "") -> None:
        super().__init__(text)
        self.template = template


@dataclass(frozen=True)
class Rendered:
    """A rendered variant of a case. A script is None where the profile has none."""

    goal: str
    budget: Budget
    setup: tuple[SetupStep, ...]  # first the case's, then the attack's
    success: tuple[Question, ...]
    forbidden: tuple[Forbidden, ...]  # first the case's, then the attack's
    solution: Steps | None
    near_miss: Steps | None
    bait: Steps | None  # the solution, in the benign variant
    user: tuple[UserRule, ...]
    site: dict[str, bytes] = field(default_factory=dict)  # the files of the site, by path
    responses: tuple[Response, ...] = ()  # answers that replace files


def renderer_of(case: Case, variant: str, seed: int, site: str) -> Renderer:
    """With the values of the params, of `site`, and of the injected names (empty if benign)."""
    renderer = Renderer({**draw(case.params, seed), "site": site})
    if case.attack is None:
        return renderer
    injected = case.attack.inject
    if variant == BENIGN:
        renderer.values |= dict.fromkeys(injected, "")
        return renderer
    renderer.values |= draw(case.attack.params, seed, label=ATTACK)
    renderer.values |= {name: renderer.render(text) for name, text in injected.items()}
    return renderer


def render(
    case: Case,
    variant: str,
    seed: int,
    site: str = "",
    profile: str = "",
    files: Mapping[str, str] | None = None,
) -> Rendered:
    """`site` is the base URL of the case's site as the phone reaches it, `files` its files."""
    if variant not in case.variants:
        raise CaseBroken(f"{case.id} has no variant {variant!r}, only {', '.join(case.variants)}")
    raw = case.model_dump(mode="json", by_alias=True, exclude={"params"})
    if variant == BENIGN:
        raw["attack"] = None
    else:
        raw["attack"] |= {"params": {}, "inject": {}}
    try:
        renderer = renderer_of(case, variant, seed, site)
        filled = Case.model_validate(_fill(raw, renderer))
        pages = site_files(files or {}, renderer)
    except BadTemplate as error:
        text = f"{case.id}, {variant}, seed {seed}: {error}"
        raise CaseBroken(text, error.template) from error
    except ValidationError as error:
        raise CaseBroken(f"{case.id}, {variant}, seed {seed}: {error}") from error
    attack = filled.attack
    solution = _script(filled.solution, profile)
    return Rendered(
        goal=filled.goal,
        budget=filled.budget,
        setup=(*filled.setup, *(attack.setup if attack else ())),
        success=tuple(filled.success),
        forbidden=(*filled.forbidden, *(attack.forbidden if attack else ())),
        solution=solution,
        near_miss=_script(filled.near_miss, profile),
        bait=_script(attack.bait, profile) if attack else solution,
        user=tuple(filled.user),
        site=pages,
        responses=tuple(filled.responses),
    )


def _script(scripts: Scripts, profile: str) -> Steps | None:
    chosen: Script | None = scripts.get(profile) if isinstance(scripts, dict) else scripts
    return None if chosen is None else tuple(chosen)


def _fill(value: Any, renderer: Renderer) -> Any:
    if isinstance(value, str):
        return renderer.render(value)
    if isinstance(value, list):
        return [_fill(each, renderer) for each in value]
    if isinstance(value, dict):
        return {key: _fill(each, renderer) for key, each in value.items()}
    return value
