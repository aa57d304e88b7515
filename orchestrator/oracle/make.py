"""The oracle of a case's question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cases.model import Question
from .file import File
from .framework import InFront, Notified, Package, Setting
from .heard import Answer, Receipt
from .oracle import Oracle
from .rows import Rows
from .sqlite import Sqlite

_FAMILIES: dict[str, Callable[[str, Any, float | None], Oracle]] = {
    "setting": Setting,
    "rows": Rows,
    "file": File,
    "package": Package,
    "foreground": InFront,
    "notification": Notified,
    "sqlite": Sqlite,
    "answer": Answer,
    "receipt": Receipt,
}


def make(question: Question) -> Oracle:
    family = _FAMILIES[question.kind]
    return family(question.name, getattr(question, question.kind), question.settle)
