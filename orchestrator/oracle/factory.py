"""The oracle of a case's question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..cases.oracles import CompositeIs, Plain, Question
from ..events.canonical import Json
from .agent_and_site import Answer, Posted, Receipt
from .composite import Composite
from .file import File
from .framework import InFront, Notified, Package, Setting
from .oracle import Oracle
from .provider_rows import Rows
from .sqlite import Sqlite
from .system_state import SERVICES, Appops, Boot, Status
from .unavailable import CAPABILITIES, Beyond

FAMILIES: dict[str, Callable[[Plain, Any], Oracle]] = {
    "setting": Setting,
    "rows": Rows,
    "file": File,
    "package": Package,
    "foreground": InFront,
    "notification": Notified,
    "sqlite": Sqlite,
    "answer": Answer,
    "receipt": Receipt,
    "posted": Posted,
    "boot": Boot,
    "appops": Appops,
    **dict.fromkeys(SERVICES, Status),
    **dict.fromkeys(CAPABILITIES, Beyond),
}
Q = TypeVar("Q", bound=Plain)


def make(question: Plain, roles: Mapping[str, str] | None = None) -> Oracle:
    """Roles are resolved here, so that an oracle needs no profile to be made again."""
    question = _resolved(question, roles or {})
    asked = getattr(question, question.kind)
    if isinstance(asked, CompositeIs):
        parts = tuple(make(part, roles) for part in asked.parts)
        return Composite(question, parts, any=asked.any_ is not None)
    return FAMILIES[question.kind](question, asked)


def spoken(question: Plain) -> dict[str, Json]:
    """The question as an event carries it: what is not asked is left out."""
    told = question.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"watch"})
    return {**told, "kind": question.kind}


def heard(told: Mapping[str, Json]) -> Oracle:
    """The oracle of an event's question. ValueError where it is none."""
    return make(Question.model_validate({k: v for k, v in told.items() if k != "kind"}))


def _resolved(question: Q, roles: Mapping[str, str]) -> Q:
    asked = getattr(question, question.kind)
    if isinstance(asked, CompositeIs):
        name = "all_" if asked.any_ is None else "any_"
        parts = [_resolved(part, roles) for part in asked.parts]
        asked = asked.model_copy(update={name: parts})
    elif getattr(asked, "app", None) is not None:
        asked = asked.model_copy(update={"app": roles.get(asked.app, asked.app)})
    return question.model_copy(update={question.kind: asked})
