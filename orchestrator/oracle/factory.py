"""Makes the oracle for a case's question, or again for a recorded question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..cases.oracles import CompositeIs, Question, SimpleQuestion
from ..events.canonical import Json
from .agent_and_site import AnswerOracle, PostedOracle, ReceiptOracle
from .composite import CompositeOracle
from .file import FileOracle
from .framework import (
    ForegroundOracle,
    NotificationOracle,
    PackageOracle,
    RowsOracle,
    SettingOracle,
)
from .oracle import Oracle
from .sqlite import SqliteOracle
from .system_state import (
    CAPABILITIES,
    SERVICES,
    AppopsOracle,
    BootOracle,
    ServiceOracle,
    UnavailableOracle,
)

FAMILIES: dict[str, Callable[[SimpleQuestion], Oracle[Any]]] = {
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


def make_oracle(question: SimpleQuestion, roles: Mapping[str, str] | None = None) -> Oracle[Any]:
    """Resolves app roles, so that a recorded question needs no profile."""
    kind, asked = question.kind, getattr(question, question.kind)
    if isinstance(asked, CompositeIs):
        parts = [make_oracle(part, roles) for part in asked.parts]
        name = "all_" if asked.any_ is None else "any_"
        asked = asked.model_copy(update={name: [part.question for part in parts]})
        return CompositeOracle(question.model_copy(update={kind: asked}), parts)
    if getattr(asked, "app", None) is not None:
        app = (roles or {}).get(asked.app, asked.app)
        question = question.model_copy(update={kind: asked.model_copy(update={"app": app})})
    return FAMILIES[kind](question)


def question_fields(question: SimpleQuestion) -> dict[str, Json]:
    """The question as an event records it, without default values."""
    fields = question.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"watch"}
    )
    return {**fields, "kind": question.kind}


def oracle_of_question(fields: Mapping[str, Json]) -> Oracle[Any]:
    """The oracle for an event's question. ValueError if it is malformed."""
    return make_oracle(Question.model_validate({k: v for k, v in fields.items() if k != "kind"}))
