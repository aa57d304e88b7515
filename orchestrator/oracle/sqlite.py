"""What does a query of a database of the phone's give?

The database is copied with its write-ahead log and asked here: the phone's own may be locked, and
its sqlite3 is not on every image.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cases.model import SqliteIs
from ..device.faults import DeviceFault
from ..events.canonical import Json, canonical
from .file import kind_of_file, stat_question
from .oracle import Context, Decision, Query, Reading
from .shell import NEEDS_ROOT

PULL_S = 60.0
QUERY_S = 10.0
MOST_ROWS = 1000
_STEPS = 10_000  # of sqlite's machine between two looks at the clock


@dataclass(frozen=True)
class Sqlite:
    name: str
    asked: SqliteIs
    settle: float | None = None
    kind: str = "sqlite"
    notes: tuple[str, ...] = (
        "the app's own database, copied with its log; nothing on screen counts",
    )
    needs: tuple[str, ...] = NEEDS_ROOT

    @property
    def tentative(self) -> bool:
        """Whatever rows are wanted, one more would be too many."""
        return True

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (
            stat_question(self.asked.path, root=True).query,
            Query("database_pull", round(PULL_S * 1000), path=self.asked.path),
            Query("sqlite", round(QUERY_S * 1000), sql=self.asked.sql),
        )

    def ask(self, context: Context) -> Reading:
        """A database or a table that is not there yet is an answer: no rows at all."""
        queries, path = self.queries(context), self.asked.path
        if kind_of_file(context.device, path, root=True) is None:
            return Reading(queries[:1], f"{path} is not there", {"rows": None})
        with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
            copy = context.device.files.pull_database(path, Path(folder), timeout=PULL_S)
            rows = select(copy, self.asked.sql)
        raw = canonical(rows).decode("utf-8", "replace")
        return Reading(queries, raw, {"rows": rows})

    def decide(self, facts: Json) -> Decision:
        rows = facts["rows"]
        if rows is None:
            return Decision(False, "there is no such database or table yet")
        wanted = [list(row) for row in self.asked.equals]
        said = "the wanted rows" if rows == wanted else f"{len(rows)} rows, not those wanted"
        return Decision(rows == wanted, said)


def select(database: Path, sql: str) -> list[list[Json]] | None:
    """The query's rows; None where a table is missing. Anything else wrong is a fault."""
    deadline = time.monotonic() + QUERY_S
    try:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            rows = connection.execute(sql).fetchmany(MOST_ROWS + 1)
    except sqlite3.Error as error:
        if str(error).startswith("no such table"):
            return None
        raise DeviceFault("bad_answer", str(error), during=sql) from error
    if len(rows) > MOST_ROWS:
        raise DeviceFault("output_too_large", f"more than {MOST_ROWS} rows", during=sql)
    return [[_plain(value) for value in row] for row in rows]


def _plain(value: Any) -> Json:
    if isinstance(value, bytes):
        return f"sha256:{hashlib.sha256(value).hexdigest()}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
