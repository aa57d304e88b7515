"""The oracle on an SQL query of one of the phone's databases.

The database is copied with its write-ahead log and queried here: on the phone it may be locked, and
not every image has sqlite3.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from ..cases.oracles import SqliteIs
from ..device.faults import DeviceFault
from ..device.files import app_of_path
from ..events.canonical import Json, canonical
from .file import kind_of_file
from .oracle import Decision, Inquiry, Oracle, Query

PULL, PULL_ROOT = "database_pull", "database_pull_root"
PULL_S = 60.0
QUERY_S = 10.0
MOST_ROWS = 1000
_STEPS = 10_000  # of sqlite's virtual machine between two checks of the clock


class SqliteOracle(Oracle[SqliteIs]):
    notes = ("the app's own database, copied with its log; nothing on screen counts",)
    tentative = True  # one more row would undo any match

    @property
    def depends_on(self) -> tuple[str, ...]:
        return app_of_path(self.asked.path)

    def inquire(self) -> Inquiry:
        """A database or table that does not exist yet is an answer: null instead of rows."""
        path, root = self.asked.path, self.asked.root
        if (yield from kind_of_file(path, root=root)) is None:
            return {"rows": None}
        yield Query(PULL_ROOT if root else PULL, round(PULL_S * 1000), path=path)
        raw = yield Query("sqlite", round(QUERY_S * 1000), sql=self.asked.sql)
        table = json.loads(raw.data)
        return {"rows": None if table is None else self._stable(**table)}

    def _stable(self, columns: list[str], rows: list[list[Json]]) -> list[list[Json]]:
        unknown = set(self.asked.volatile) - set(columns)
        if unknown:
            text = f"no column {', '.join(sorted(unknown))} among {', '.join(columns)}"
            raise DeviceFault("bad_answer", text, during=self.asked.sql)
        kept = [at for at, name in enumerate(columns) if name not in self.asked.volatile]
        return [[row[at] for at in kept] for row in rows]

    def decide(self, facts: Json) -> Decision:
        rows = facts["rows"]
        if rows is None:
            return Decision(False, "there is no such database or table yet")
        wanted = [list(row) for row in self.asked.equals]
        reason = "the wanted rows" if rows == wanted else f"{len(rows)} rows, not those wanted"
        return Decision(rows == wanted, reason)


def select(database: Path, sql: str) -> bytes:
    """The columns and rows as JSON, `null` if a table is missing. Any other error is a fault."""
    deadline = time.monotonic() + QUERY_S
    try:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(MOST_ROWS + 1)
            columns = [each[0] for each in cursor.description or ()]
    except (sqlite3.Error, sqlite3.Warning) as error:  # a Warning: more than one statement
        if str(error).startswith("no such table"):
            return canonical(None)
        raise DeviceFault("bad_answer", str(error), during=sql) from error
    if len(rows) > MOST_ROWS:
        raise DeviceFault("output_too_large", f"more than {MOST_ROWS} rows", during=sql)
    return canonical({"columns": columns, "rows": [[_plain(v) for v in row] for row in rows]})


def _plain(value: Any) -> Json:
    if isinstance(value, bytes):
        return f"sha256:{hashlib.sha256(value).hexdigest()}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
