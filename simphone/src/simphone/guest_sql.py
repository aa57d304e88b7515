"""What SQL typed on the phone may reach: the database it was given, for a few seconds.

SQLite itself would open any file of the machine under us by ATTACH or VACUUM INTO, so foreign
SQL runs only inside `guarded`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# All of the phone waits for it, and for a phone's own tables milliseconds are enough.
PATIENCE_S = 1.0
STEPS_BETWEEN_LOOKS = 20_000
# An answer or a value beyond this is an error, not a dead phone.
MAX_VALUE_BYTES = 16 << 20
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# These act on the whole process or on folders of the host.
FORBIDDEN_PRAGMAS = frozenset(
    ("temp_store_directory", "data_store_directory", "soft_heap_limit", "hard_heap_limit")
)
# VACUUM attaches a nameless scratch database.
SCRATCH = ("", ":memory:")


def _authorize(
    action: int, first: str | None, _second: str | None, _db: str | None, _trigger: str | None
) -> int:
    if action == sqlite3.SQLITE_ATTACH and first not in SCRATCH:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in FORBIDDEN_PRAGMAS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def too_big() -> sqlite3.DataError:
    error = sqlite3.DataError("string or blob too big")
    error.sqlite_errorcode = sqlite3.SQLITE_TOOBIG
    error.sqlite_errorname = "SQLITE_TOOBIG"
    return error


def fetch(cursor: sqlite3.Cursor) -> list[Any]:
    """Every row of an answer that is not absurdly large."""
    rows: list[Any] = []
    size = 0
    while some := cursor.fetchmany(200):
        size += sum(_weight(value) for row in some for value in row)
        if size > MAX_VALUE_BYTES:
            raise too_big()
        rows += some
    return rows


def _weight(value: Any) -> int:
    return 50 + (len(value) if isinstance(value, str | bytes) else 0)


@contextmanager
def guarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Run foreign SQL on this connection: fenced in, and interrupted when it takes too long."""
    end = time.monotonic() + PATIENCE_S
    before = {limit: connection.setlimit(limit, value) for limit, value in LIMITS.items()}
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
        for limit, value in before.items():
            connection.setlimit(limit, value)
