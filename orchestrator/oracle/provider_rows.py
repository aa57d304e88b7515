"""The oracle on the rows of a content provider.

The provider does the comparison: the query names every column, and only row ids are printed. The
text of a message would be printed unescaped, so it could be written to look like further rows.
"""

from __future__ import annotations

from ..cases.oracles import RowsAre, Scalar
from ..device.faults import DeviceFault
from ..device.providers import PROVIDERS, parse_rows, provider_package, quoted
from .oracle import CountOracle, Inquiry, output

_KEY = "_id"  # every row of every provider has one


class RowsOracle(CountOracle[RowsAre]):
    notes = (
        "asked of the content provider, not of the screen",
        "compared by the provider: no text of a row is parsed, so none can imitate another row",
    )
    what = "rows"

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (provider_package(self._uri),)

    @property
    def _uri(self) -> str:
        return self.asked.uri or PROVIDERS[str(self.asked.provider)]

    def inquire(self) -> Inquiry:
        words = ("content", "query", "--uri", self._uri, "--projection", _KEY)
        condition = ("--where", where(self.asked.match))
        text = yield from output("content_query", *words, *condition, root=self.asked.root)
        ids = [str(row[_KEY]) for row in parse_rows(text, [_KEY])]
        if not all(id.lstrip("-").isdecimal() for id in ids):
            raise DeviceFault("bad_answer", f"not row ids: {text[:200]!r}", during="content query")
        return {self.what: len(ids)}


def where(match: dict[str, Scalar]) -> str:
    """The values of the columns as an SQL condition, sorted by column name."""
    return " AND ".join(_condition(column, match[column]) for column in sorted(match))


def _condition(column: str, value: Scalar) -> str:
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, str):
        return f"{column}={quoted(value)}"
    return f"{column}={int(value) if isinstance(value, bool) else repr(value)}"
