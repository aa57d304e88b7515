"""How a content URI becomes rows of a SQLite table, under the rules of Android's providers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from ..guest_sql import fetch, guarded
from ..processes import ROOT
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World

Values = dict[str, Any]
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
SECURITY = "java.lang.SecurityException"
NO_FILE = "java.io.FileNotFoundException"
UNSUPPORTED = "java.lang.UnsupportedOperationException"


class ProviderError(Exception):
    """What the caller of a provider sees thrown."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")


class Writes(Enum):
    """What becomes of a write by a caller that is neither root nor the owning app."""

    ALLOWED = "allowed"
    IGNORED = "ignored"  # silently, as content://sms does unless one is the default SMS app
    REFUSED = "refused"


@dataclass(frozen=True)
class Table:
    """Rows that a URI can name."""

    name: str  # the table that is written; "" where nothing can be
    columns: tuple[str, ...]  # what a query without a projection shows, in this order
    view: str = ""  # what is read, where that is not the table
    where: str = ""  # holds for every row
    order: str = ""  # unless the caller sorts
    defaults: Mapping[str, Any] = field(default_factory=dict)
    readonly: frozenset[str] = frozenset(("_id",))  # dropped from a caller's update

    @property
    def source(self) -> str:
        return self.view or self.name


class Route(NamedTuple):
    """A path pattern, where # stands for a number and * for any one part."""

    pattern: str
    table: Table
    by: str = "_id"  # the column that # or * selects


def columns(names: str) -> tuple[str, ...]:
    """Column names from a list with commas."""
    return tuple(names.split(","))


@dataclass(frozen=True)
class Wanted:
    """What a query asks for beside its URI."""

    projection: tuple[str, ...] = ()  # columns; all of them where none is named
    where: str = ""
    sort: str = ""


class Result(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def java_error(error: sqlite3.Error, sql: str) -> ProviderError:
    """SQLite's complaint as Android's wrapper words it."""
    code = getattr(error, "sqlite_errorcode", 1)
    name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
    primary = code & 0xFF
    if primary == sqlite3.SQLITE_CONSTRAINT:
        cls, tail = "android.database.sqlite.SQLiteConstraintException", ""
    elif primary == sqlite3.SQLITE_INTERRUPT:
        return ProviderError("android.os.OperationCanceledException", str(error))
    else:
        cls, tail = "android.database.sqlite.SQLiteException", f": , while compiling: {sql}"
    return ProviderError(cls, f"{error} (code {code} {name}){tail}")


def _matches(pattern: str, path: tuple[str, ...]) -> tuple[bool, str | None]:
    """Whether the path has this form, and its variable part."""
    parts = pattern.split("/") if pattern else []
    found: str | None = None
    if len(parts) != len(path):
        return False, None
    for part, given in zip(parts, path, strict=True):
        if part == "*" or (part == "#" and given.isascii() and given.isdigit()):
            found = given
        elif part != given:
            return False, None
    return True, found


class Provider:
    """One authority. What differs between providers is data, or one of the overridable steps:
    `checked` before a row is written, `written` after, `call` for methods."""

    def __init__(
        self,
        authority: str,
        database: str,
        routes: Sequence[Route],
        *,
        writes: Writes = Writes.ALLOWED,
        strict: bool = True,
    ) -> None:
        self.authority = authority
        self.database = database
        self.routes = tuple(routes)
        self.writes = writes
        self.strict = strict  # a projection names columns only

    def query(self, world: World, uri: Uri, wanted: Wanted) -> Result:
        table, fixed, fixed_args = self.find(world, uri)
        for column in wanted.projection:
            if self.strict and column not in table.columns:
                raise ProviderError(ILLEGAL_ARGUMENT, f"Invalid column {column}")
        shown = wanted.projection or table.columns
        sql = f"SELECT {', '.join(shown)} FROM {table.source}{_where(fixed, wanted.where)}"
        if order := wanted.sort or table.order:
            sql += f" ORDER BY {order}"
        rows = self._run(world, sql, fixed_args)
        return Result(shown, [tuple(row) for row in rows])

    def insert(self, world: World, uri: Uri, values: Values, uid: int = ROOT) -> int | None:
        """The new row's id; None where the write was ignored."""
        table, _, _ = self.find(world, uri)
        if not self._may_write(uri, table, uid):
            return None
        row = {**table.defaults, **self.checked(world, uri, table, values)}
        try:
            with guarded(world.databases.connect(self.database)):
                new = world.databases.insert(self.database, table.name, row)
        except ValueError as error:  # a NUL in a name
            raise ProviderError(ILLEGAL_ARGUMENT, str(error)) from error
        except sqlite3.Error as error:
            names = ",".join(row)
            marks = ",".join("?" for _ in row)
            sql = f"INSERT INTO {table.name}({names}) VALUES ({marks})"
            raise java_error(error, sql) from error
        self.written(world, table, "insert", [new])
        return new

    def update(
        self, world: World, uri: Uri, values: Values, where: str = "", uid: int = ROOT
    ) -> int:
        table, _, _ = self.find(world, uri)
        if not self._may_write(uri, table, uid):
            return 0
        changes = {k: v for k, v in values.items() if k not in table.readonly}
        if not changes:
            raise ProviderError(ILLEGAL_ARGUMENT, "Empty values")
        ids = self._ids(world, uri, where)
        pairs = ",".join('"' + name.replace('"', '""') + '"=?' for name in changes)
        for chunk in _chunks(ids):
            marks = ",".join("?" for _ in chunk)
            sql = f"UPDATE {table.name} SET {pairs} WHERE _id IN ({marks})"
            self._run(world, sql, (*changes.values(), *chunk))
        self.written(world, table, "update", ids)
        return len(ids)

    def delete(self, world: World, uri: Uri, where: str = "", uid: int = ROOT) -> int:
        table, _, _ = self.find(world, uri)
        if not self._may_write(uri, table, uid):
            return 0
        ids = self._ids(world, uri, where)
        for chunk in _chunks(ids):
            marks = ",".join("?" for _ in chunk)
            self._run(world, f"DELETE FROM {table.name} WHERE _id IN ({marks})", chunk)
        self.written(world, table, "delete", ids)
        return len(ids)

    def call(self, world: World, method: str, arg: str | None) -> str | None:
        """The text of the Bundle that a provider-defined method returns."""
        raise ProviderError(UNSUPPORTED, f"Unsupported call: {method}")

    def file(self, world: World, uri: Uri) -> str:
        """The guest path of the file that a URI stands for."""
        text = f"No files supported by provider at {uri.text}"
        raise ProviderError(NO_FILE, text)

    def checked(self, world: World, uri: Uri, table: Table, values: Values) -> Values:
        """A caller's new row as it will be stored; ProviderError where it may not be."""
        return values

    def written(self, world: World, table: Table, kind: str, ids: Sequence[int]) -> None:
        """Bring what is derived from these rows up to date."""

    def find(self, world: World, uri: Uri) -> tuple[Table, str, tuple[str, ...]]:
        """The table of a URI, and the condition that its path adds."""
        for route in self.routes:
            matched, value = _matches(route.pattern, uri.path)
            if matched:
                fixed = [route.table.where] if route.table.where else []
                if value is not None:
                    fixed.append(f"{route.by} = ?")
                return route.table, " AND ".join(fixed), () if value is None else (value,)
        raise ProviderError(ILLEGAL_ARGUMENT, f"Unknown URL {uri.text}")

    def _may_write(self, uri: Uri, table: Table, uid: int) -> bool:
        if not table.name:
            raise ProviderError(UNSUPPORTED, f"Cannot write to URI: {uri.text}")
        if uid == ROOT or self.writes is Writes.ALLOWED:
            return True
        if self.writes is Writes.REFUSED:
            raise ProviderError(SECURITY, f"Permission Denial: writing {uri.text} from uid={uid}")
        return False

    def _ids(self, world: World, uri: Uri, where: str) -> list[int]:
        table, fixed, fixed_args = self.find(world, uri)
        sql = f"SELECT _id FROM {table.source}{_where(fixed, where)}"
        return [int(row[0]) for row in self._run(world, sql, fixed_args)]

    def _run(self, world: World, sql: str, args: Sequence[Any]) -> list[sqlite3.Row]:
        connection = world.databases.connect(self.database)
        try:
            with guarded(connection):
                return fetch(connection.execute(sql, args))
        except sqlite3.Error as error:
            raise java_error(error, sql) from error
        except (sqlite3.Warning, ValueError) as error:  # a second statement; a NUL in the text
            raise ProviderError("android.database.sqlite.SQLiteException", str(error)) from error


def _where(fixed: str, given: str) -> str:
    both = [f"({part})" for part in (fixed, given) if part]
    return f" WHERE {' AND '.join(both)}" if both else ""


def _chunks(ids: Sequence[int], size: int = 500) -> list[Sequence[int]]:
    return [ids[at : at + size] for at in range(0, len(ids), size)]
