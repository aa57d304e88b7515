"""Appointments: content://com.android.calendar over calendar.db. Times are milliseconds, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .provider import (
    ILLEGAL_ARGUMENT,
    Provider,
    ProviderError,
    Result,
    Route,
    Table,
    Values,
    Wanted,
    columns,
)
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.calendar/databases/calendar.db"
DEFAULT_CALENDAR = 1
HOUR_MS = 3_600_000

_EVENTS = (
    "_id,calendar_id,title,description,eventLocation,eventColor,eventStatus,dtstart,dtend,"
    "eventTimezone,eventEndTimezone,duration,allDay,accessLevel,availability,hasAlarm,"
    "hasAttendeeData,rrule,rdate,exrule,exdate,organizer,lastDate,deleted"
)
SCHEMA = """
CREATE TABLE IF NOT EXISTS Calendars (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, account_name TEXT, account_type TEXT, name TEXT,
  calendar_displayName TEXT, calendar_color INTEGER, calendar_access_level INTEGER,
  visible INTEGER NOT NULL DEFAULT 1, sync_events INTEGER NOT NULL DEFAULT 0,
  calendar_timezone TEXT, ownerAccount TEXT, isPrimary INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS Events (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, calendar_id INTEGER NOT NULL, title TEXT,
  description TEXT, eventLocation TEXT, eventColor INTEGER, eventStatus INTEGER, dtstart INTEGER,
  dtend INTEGER, eventTimezone TEXT, eventEndTimezone TEXT, duration TEXT,
  allDay INTEGER NOT NULL DEFAULT 0, accessLevel INTEGER NOT NULL DEFAULT 0,
  availability INTEGER NOT NULL DEFAULT 0, hasAlarm INTEGER NOT NULL DEFAULT 0,
  hasAttendeeData INTEGER NOT NULL DEFAULT 0, rrule TEXT, rdate TEXT, exrule TEXT, exdate TEXT,
  organizer TEXT, lastDate INTEGER, deleted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS Reminders (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, event_id INTEGER, minutes INTEGER,
  method INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER IF NOT EXISTS events_cleanup_delete DELETE ON Events BEGIN
  DELETE FROM Reminders WHERE event_id = old._id; END;
CREATE TRIGGER IF NOT EXISTS calendar_cleanup DELETE ON Calendars BEGIN
  DELETE FROM Events WHERE calendar_id = old._id; END;
INSERT OR IGNORE INTO Calendars (_id, account_name, account_type, name, calendar_displayName,
  calendar_color, calendar_access_level, calendar_timezone, ownerAccount, isPrimary) VALUES
  (1, 'Phone', 'LOCAL', 'Phone', 'Phone', -14069085, 700, 'UTC', 'Phone', 1);
"""


@dataclass(frozen=True)
class Event:
    id: int
    title: str
    start_ms: int
    end_ms: int
    location: str = ""
    description: str = ""
    all_day: bool = False
    calendar_id: int = DEFAULT_CALENDAR


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def events(world: World) -> list[Event]:
    """Every appointment, in order of time."""
    sql = "SELECT * FROM Events WHERE deleted = 0 ORDER BY dtstart, _id"
    return [_event(row) for row in world.databases.query(PATH, sql)]


def event(world: World, event_id: int) -> Event | None:
    sql = "SELECT * FROM Events WHERE _id = ? AND deleted = 0"
    rows = world.databases.query(PATH, sql, (event_id,))
    return _event(rows[0]) if rows else None


def add_event(
    world: World,
    title: str,
    start_ms: int,
    end_ms: int = 0,
    *,
    location: str = "",
    description: str = "",
    all_day: bool = False,
    reminder_minutes: int | None = None,
    calendar_id: int = DEFAULT_CALENDAR,
) -> int:
    """A new appointment, an hour long unless its end is given."""
    row = _row(title, start_ms, end_ms or start_ms + HOUR_MS, location, description, all_day)
    new = world.databases.insert(
        PATH,
        "Events",
        {**row, "calendar_id": calendar_id, "eventTimezone": "UTC", "organizer": "Phone"},
    )
    if reminder_minutes is not None:
        reminder = {"event_id": new, "minutes": reminder_minutes, "method": 1}
        world.databases.insert(PATH, "Reminders", reminder)
        world.databases.execute(PATH, "UPDATE Events SET hasAlarm = 1 WHERE _id = ?", (new,))
    return new


def update_event(
    world: World,
    event_id: int,
    title: str,
    start_ms: int,
    end_ms: int,
    *,
    location: str = "",
    description: str = "",
    all_day: bool = False,
) -> None:
    row = _row(title, start_ms, end_ms, location, description, all_day)
    pairs = ", ".join(f"{name} = ?" for name in row)
    sql = f"UPDATE Events SET {pairs} WHERE _id = ?"
    world.databases.execute(PATH, sql, (*row.values(), event_id))


def delete_event(world: World, event_id: int) -> None:
    world.databases.execute(PATH, "DELETE FROM Events WHERE _id = ?", (event_id,))


def _row(
    title: str, start_ms: int, end_ms: int, location: str, description: str, all_day: bool
) -> Values:
    return {
        "title": title,
        "dtstart": start_ms,
        "dtend": end_ms,
        "lastDate": end_ms,
        "eventLocation": location or None,
        "description": description or None,
        "allDay": int(all_day),
    }


def _event(row: dict[str, Any]) -> Event:
    start = int(row["dtstart"] or 0)
    return Event(
        id=row["_id"],
        title=str(row["title"] or ""),
        start_ms=start,
        end_ms=int(row["dtend"] or start),
        location=str(row["eventLocation"] or ""),
        description=str(row["description"] or ""),
        all_day=bool(row["allDay"]),
        calendar_id=int(row["calendar_id"]),
    )


_CALENDARS = Table(
    "Calendars",
    columns(
        "_id,account_name,account_type,name,calendar_displayName,calendar_color,"
        "calendar_access_level,visible,sync_events,calendar_timezone,ownerAccount,isPrimary,"
        "deleted"
    ),
    where="deleted = 0",
    readonly=frozenset(("_id", "account_name", "account_type")),
)
_EVENT_TABLE = Table("Events", columns(_EVENTS), where="deleted = 0")
_REMINDERS = Table("Reminders", ("_id", "event_id", "minutes", "method"))
# Nothing recurs here, so an instance is its event.
_INSTANCES = Table(
    "",
    columns(
        '_id,event_id,"begin","end",title,description,eventLocation,allDay,calendar_id,dtstart,'
        "dtend,eventTimezone,hasAlarm"
    ),
    view='(SELECT _id, _id AS event_id, dtstart AS "begin", coalesce(dtend, dtstart) AS "end", '
    "title, description, eventLocation, allDay, calendar_id, dtstart, dtend, eventTimezone, "
    "hasAlarm FROM Events WHERE deleted = 0)",
    order='"begin"',
)


class CalendarProvider(Provider):
    def query(self, world: World, uri: Uri, wanted: Wanted) -> Result:
        # "begin" and "end" are words of SQL.
        words = ("begin", "end")
        quoted = tuple(f'"{name}"' if name in words else name for name in wanted.projection)
        where = wanted.where
        span = uri.path[2:] if uri.path[:2] == ("instances", "when") else ()
        if len(span) == 2 and all(_is_time(part) for part in span):
            within = f'"begin" <= {int(span[1])} AND "end" >= {int(span[0])}'
            where = f"({where}) AND {within}" if where else within
            uri = Uri(uri.text, uri.authority, ("instances",))
        shown, rows = super().query(world, uri, replace(wanted, projection=quoted, where=where))
        return Result(tuple(name.strip('"') for name in shown), rows)

    def checked(self, world: World, uri: Uri, table: Table, values: Values) -> Values:
        if table is _CALENDARS:
            if not uri.flag("caller_is_syncadapter"):
                raise ProviderError(ILLEGAL_ARGUMENT, "Only sync adapters may write to Calendars")
            account = {
                k: v for k, v in uri.options.items() if k in ("account_name", "account_type")
            }
            return {**account, **values}
        if table is _EVENT_TABLE:
            for name in ("calendar_id", "eventTimezone", "dtstart"):
                if values.get(name) in (None, ""):
                    raise ProviderError(ILLEGAL_ARGUMENT, f"Event values must include a {name}")
            if values.get("dtend") is None and not values.get("duration"):
                raise ProviderError(
                    ILLEGAL_ARGUMENT, "Event values must include a dtend or a duration"
                )
            return {"lastDate": values.get("dtend"), **values}
        return values

    def written(self, world: World, table: Table, kind: str, ids: Sequence[int]) -> None:
        if table is _REMINDERS:
            sql = "UPDATE Events SET hasAlarm = _id IN (SELECT event_id FROM Reminders)"
            world.databases.execute(self.database, sql)


def _is_time(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18


CALENDAR = CalendarProvider(
    "com.android.calendar",
    PATH,
    [
        Route("calendars", _CALENDARS),
        Route("calendars/#", _CALENDARS),
        Route("events", _EVENT_TABLE),
        Route("events/#", _EVENT_TABLE),
        Route("reminders", _REMINDERS),
        Route("reminders/#", _REMINDERS),
        Route("instances", _INSTANCES),
    ],
)
