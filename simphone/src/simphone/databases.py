"""The phone's SQLite files: one open connection each, shared by providers, apps and sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .disk import Disk
from .noise import Noise

Row = dict[str, Any]
# What SQLite says of a disk that has no room for its index.
NO_ROOM = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)


def _opened(host: Path, *, alone: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(host, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        # Text that is not UTF-8 is read as Java reads it, not refused.
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        if alone:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class Databases:
    """Opens guest databases by their guest path. WAL, as Android's own providers keep them, so
    that whoever pulls a database without its -wal sees stale rows here too."""

    def __init__(self, disk: Disk, noise: Noise) -> None:
        self._disk = disk
        self._noise = noise
        self._open: dict[str, sqlite3.Connection] = {}

    def connect(self, path: str) -> sqlite3.Connection:
        connection = self._open.get(path)
        if connection is None:
            host = self._disk.own(path)
            try:
                connection = _opened(host)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in NO_ROOM:
                    raise
                # A full disk has no room for the index that several processes would share; one
                # that is alone keeps it in memory, so that what is there can still be read.
                connection = _opened(host, alone=True)
            self._open[path] = connection
        return connection

    def script(self, path: str, schema: str) -> None:
        self.connect(path).executescript(schema)

    def query(self, path: str, sql: str, args: Sequence[Any] = ()) -> list[Row]:
        return [dict(row) for row in self.connect(path).execute(sql, args)]

    def execute(self, path: str, sql: str, args: Sequence[Any] = ()) -> int:
        """Rows touched."""
        self._need_room()
        return self.connect(path).execute(sql, args).rowcount

    def insert(self, path: str, table: str, values: Row, key: str = "_id") -> int:
        """A new row with the next id (jumping where the phone is noisy); returns the id."""
        self._need_room()
        connection = self.connect(path)
        if values.get(key) is None:
            top = max(self._top(connection, table, key), self._used(connection, table))
            values = {**values, key: top + 1 + self._noise.row_gap()}
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in values)
        marks = ", ".join("?" for _ in values)
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"
        connection.execute(sql, tuple(values.values()))
        return int(values[key])

    def _need_room(self) -> None:
        if self._disk.full:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    @staticmethod
    def _top(connection: sqlite3.Connection, table: str, key: str) -> int:
        return connection.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] or 0

    @staticmethod
    def _used(connection: sqlite3.Connection, table: str) -> int:
        """The highest id that an AUTOINCREMENT table ever gave: it gives none twice."""
        try:
            row = connection.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)
            ).fetchone()
        except sqlite3.OperationalError:  # no table of this file counts
            return 0
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Before the files under them are copied or replaced."""
        for connection in self._open.values():
            connection.close()
        self._open = {}

    def paths(self) -> Iterable[str]:
        return tuple(self._open)
