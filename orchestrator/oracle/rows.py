"""Which rows does a content provider hold?

The phone itself compares: rows are asked for by every named column, and only their ids come back.
A message's text is printed as it is, so one could be written to look like further rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.model import RowsAre, Scalar
from ..device.providers import parse_rows, quoted
from ..events.canonical import Json
from .oracle import Context, Decision, Query, Reading
from .shell import NEEDS_ROOT, NEEDS_SHELL, ShellQuestion

_KEY = "_id"  # every provider's row has one


@dataclass(frozen=True)
class Rows:
    name: str
    asked: RowsAre
    settle: float | None = None
    kind: str = "rows"
    notes: tuple[str, ...] = (
        "asked of the content provider, not of the screen",
        "compared by the provider: no text of a row is parsed, so none can pose as another row",
    )

    @property
    def needs(self) -> tuple[str, ...]:
        return NEEDS_ROOT if self.asked.root else NEEDS_SHELL

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    @property
    def _question(self) -> ShellQuestion:
        words = ("content", "query", "--uri", self.asked.uri, "--projection", _KEY)
        return ShellQuestion(
            "content_query", (*words, "--where", where(self.asked.match)), root=self.asked.root
        )

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (self._question.query,)

    def ask(self, context: Context) -> Reading:
        text = self._question.answer(context.device)
        return Reading(self.queries(context), text, {"rows": len(parse_rows(text, [_KEY]))})

    def decide(self, facts: Json) -> Decision:
        found: int = facts["rows"]
        wanted = self.asked.count
        holds = found > 0 if wanted is None else found == wanted
        meant = "at least one" if wanted is None else f"exactly {wanted}"
        return Decision(holds, f"{found} matching rows, {meant} wanted")


def where(match: dict[str, Scalar]) -> str:
    """The columns' values as a condition of SQL, the columns in order of their names."""
    return " AND ".join(_condition(column, match[column]) for column in sorted(match))


def _condition(column: str, value: Scalar) -> str:
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, str):
        return f"{column}={quoted(value)}"
    return f"{column}={int(value) if isinstance(value, bool) else repr(value)}"
