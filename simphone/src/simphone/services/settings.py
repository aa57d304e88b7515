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


# Of the global namespace: whether adbd runs.
ADB_ENABLED = "adb_enabled"


class Settings:
    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._watched: dict[tuple[str, str], Callable[[], None]] = {}

    def watch(self, space: str, name: str, told: Callable[[], None]) -> None:
        """`told` is called after each write of this setting, by whatever way it came."""
        self._watched[space, name] = told

    def written(self, space: str, name: str | None = None) -> None:
        """A row changed; None where it may be any of the namespace."""
        for (watched, key), told in self._watched.items():
            if watched == space and name in (None, key):
                told()

    def create(self) -> None:
        self._databases.script(PATH, SCHEMA)

    def _whole(self, work: Callable[[], T]) -> T:
        """Whoever dropped a namespace's table finds it empty: the provider makes it again."""
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # a full disk, not a lost table
                raise
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
        self.written(space, name)

    def delete(self, space: str, name: str) -> int:
        sql = f'DELETE FROM "{self._table(space)}" WHERE name = ?'
        count = self._whole(lambda: self._databases.execute(PATH, sql, (name,)))
        self.written(space, name)
        return count

    def items(self, space: str) -> list[tuple[str, str]]:
        sql = f'SELECT name, value FROM "{self._table(space)}" ORDER BY name'
        rows = self._whole(lambda: self._databases.query(PATH, sql))
        return [(r["name"], "null" if r["value"] is None else str(r["value"])) for r in rows]

    def on(self, space: str, name: str) -> bool:
        return self.get(space, name) == "1"

    def adb_enabled(self) -> bool:
        """As AdbService reads it: a number above 0; anything else, or nothing, is off."""
        value = self.get("global", ADB_ENABLED) or ""
        return value.isascii() and value.isdigit() and int(value[:9]) > 0

    def _table(self, space: str) -> str:
        if space not in NAMESPACES:
            raise ValueError(f"Invalid namespace {space!r}")
        return space
