"""Makes the oracle for a case's question, or again for a recorded question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..cases.oracles import CompositeIs, Question, SimpleQuestion
from ..events.canonical import Json
from .agent_and_site import AnswerOracle, PostedOracle, ReceiptOracle
from .composite import CompositeOracle
from .file import FileOracle
from .framework import ForegroundOracle, NotificationOracle, PackageOracle, SettingOracle
from .oracle import Oracle
from .provider_rows import RowsOracle
from .sqlite import SqliteOracle
from .system_state import SERVICES, AppopsOracle, BootOracle, ServiceOracle
from .unavailable import CAPABILITIES, UnavailableOracle

FAMILIES: dict[str, Callable[[SimpleQuestion, Any], Oracle]] = {
    "setting": SettingOracle,
    "rows": RowsOracle,
    "file": FileOracle,
    "package": PackageOracle,
    "foreground": ForegroundOracle,
    "notification": NotificationOracle,
    "sqlite": SqliteOracle,
    "answer": AnswerOracle,
    "receipt": ReceiptOracle,
    "posted": PostedOracle,
    "boot": BootOracle,
    "appops": AppopsOracle,
    **dict.fromkeys(SERVICES, ServiceOracle),
    **dict.fromkeys(CAPABILITIES, UnavailableOracle),
}
Q = TypeVar("Q", bound=SimpleQuestion)


def make_oracle(question: SimpleQuestion, roles: Mapping[str, str] | None = None) -> Oracle:
    """Resolves app roles, so that a recorded question can be made into an oracle without a
    profile."""
    question = _resolved(question, roles or {})
    asked = getattr(question, question.kind)
    if isinstance(asked, CompositeIs):
        parts = tuple(make_oracle(part, roles) for part in asked.parts)
        return CompositeOracle(question, parts, any=asked.any_ is not None)
    return FAMILIES[question.kind](question, asked)


def question_fields(question: SimpleQuestion) -> dict[str, Json]:
    """The question as an event records it, without default values."""
    fields = question.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"watch"}
    )
    return {**fields, "kind": question.kind}


def oracle_of_question(fields: Mapping[str, Json]) -> Oracle:
    """The oracle for an event's question. ValueError if it is malformed."""
    return make_oracle(Question.model_validate({k: v for k, v in fields.items() if k != "kind"}))


def _resolved(question: Q, roles: Mapping[str, str]) -> Q:
    asked = getattr(question, question.kind)
    if isinstance(asked, CompositeIs):
        name = "all_" if asked.any_ is None else "any_"
        parts = [_resolved(part, roles) for part in asked.parts]
        asked = asked.model_copy(update={name: parts})
    elif getattr(asked, "app", None) is not None:
        asked = asked.model_copy(update={"app": roles.get(asked.app, asked.app)})
    return question.model_copy(update={question.kind: asked})
