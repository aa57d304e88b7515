"""The settings provider: three namespaces in one database file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from ..databases import Databases

T = TypeVar("T")

PATH = "/data/data/com.android.providers.settings/databases/settings.db"
NAMESPACES = ("system", "secure", "global")
SCHEMA = "".join(
    f'CREATE TABLE IF NOT EXISTS "{space}" '
    "(_id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, value TEXT);"
    for space in NAMESPACES
)


class Settings:
    def __init__(self, databases: Databases) -> None:
        self._databases = databases

    def create(self) -> None:
        self._databases.script(PATH, SCHEMA)

    def _whole(self, work: Callable[[], T]) -> T:
        """Whoever dropped a namespace's table finds it empty: the provider makes it again."""
        try:
            return work()
        except sqlite3.OperationalError:
            self.create()
            return work()

    def get(self, space: str, name: str) -> str | None:
        sql = f'SELECT value FROM "{self._table(space)}" WHERE name = ?'
        rows = self._whole(lambda: self._databases.query(PATH, sql, (name,)))
        value = rows[0]["value"] if rows else None
        return None if value is None else str(value)

    def put(self, space: str, name: str, value: str) -> None:
        table = self._table(space)
        sql = f'UPDATE "{table}" SET value = ? WHERE name = ?'
        if not self._whole(lambda: self._databases.execute(PATH, sql, (value, name))):
            self._databases.insert(PATH, f'"{table}"', {"name": name, "value": value})

    def delete(self, space: str, name: str) -> int:
        sql = f'DELETE FROM "{self._table(space)}" WHERE name = ?'
        return self._whole(lambda: self._databases.execute(PATH, sql, (name,)))

    def items(self, space: str) -> list[tuple[str, str]]:
        sql = f'SELECT name, value FROM "{self._table(space)}" ORDER BY name'
        rows = self._whole(lambda: self._databases.query(PATH, sql))
        return [(r["name"], "null" if r["value"] is None else str(r["value"])) for r in rows]

    def on(self, space: str, name: str) -> bool:
        return self.get(space, name) == "1"

    def _table(self, space: str) -> str:
        if space not in NAMESPACES:
            raise ValueError(f"Invalid namespace {space!r}")
        return space
