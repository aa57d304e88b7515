"""The oracle on the rows of a content provider.

The provider does the comparison: the query names every column, and only row ids are printed. The
text of a message would be printed unescaped, so it could be written to look like further rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.oracles import RowsAre, Scalar, SimpleQuestion
from ..device.faults import DeviceFault
from ..device.providers import PROVIDERS, parse_rows, provider_package, quoted
from ..events.canonical import Json
from .oracle import Decision, Inquiry
from .shell_query import NEEDS_ROOT, NEEDS_SHELL, answer, command

_KEY = "_id"  # every row of every provider has one


@dataclass(frozen=True)
class RowsOracle:
    question: SimpleQuestion
    asked: RowsAre
    notes: tuple[str, ...] = (
        "asked of the content provider, not of the screen",
        "compared by the provider: no text of a row is parsed, so none can imitate another row",
    )

    @property
    def needs(self) -> tuple[str, ...]:
        return NEEDS_ROOT if self.asked.root else NEEDS_SHELL

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (provider_package(self._uri),)

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    @property
    def _uri(self) -> str:
        return self.asked.uri or PROVIDERS[str(self.asked.provider)]

    def inquire(self) -> Inquiry:
        words = ("content", "query", "--uri", self._uri, "--projection", _KEY)
        condition = ("--where", where(self.asked.match))
        query = command("content_query", *words, *condition, root=self.asked.root)
        text = yield from answer(query)
        ids = [str(row[_KEY]) for row in parse_rows(text, [_KEY])]
        if not all(id.lstrip("-").isdecimal() for id in ids):
            raise DeviceFault("bad_answer", f"not row ids: {text[:200]!r}", during="content query")
        return {"rows": len(ids)}

    def decide(self, facts: Json) -> Decision:
        return counted(facts["rows"], self.asked.count, "rows")


def counted(found: int, wanted: int | None, what: str) -> Decision:
    """The decision on a number of matches; without a wanted number at least one is needed."""
    holds = found > 0 if wanted is None else found == wanted
    meant = "at least one" if wanted is None else f"exactly {wanted}"
    return Decision(holds, f"{found} matching {what}, {meant} wanted")


def where(match: dict[str, Scalar]) -> str:
    """The values of the columns as an SQL condition, sorted by column name."""
    return " AND ".join(_condition(column, match[column]) for column in sorted(match))


def _condition(column: str, value: Scalar) -> str:
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, str):
        return f"{column}={quoted(value)}"
    return f"{column}={int(value) if isinstance(value, bool) else repr(value)}"
