"""Past calls: content://call_log/calls over calllog.db. A call is here only after it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import contacts
from .numbers import normalized
from .provider import Provider, Route, Table, columns

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.contacts/databases/calllog.db"
INCOMING, OUTGOING, MISSED, VOICEMAIL, REJECTED, BLOCKED = 1, 2, 3, 4, 5, 6
SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT, presentation INTEGER NOT NULL DEFAULT 1,
  post_dial_digits TEXT NOT NULL DEFAULT '', via_number TEXT NOT NULL DEFAULT '', date INTEGER,
  duration INTEGER, data_usage INTEGER, type INTEGER, features INTEGER NOT NULL DEFAULT 0,
  subscription_component_name TEXT, subscription_id TEXT, phone_account_address TEXT,
  new INTEGER, name TEXT, numbertype INTEGER, numberlabel TEXT, countryiso TEXT,
  voicemail_uri TEXT, is_read INTEGER, geocoded_location TEXT, lookup_uri TEXT,
  matched_number TEXT, normalized_number TEXT, photo_id INTEGER NOT NULL DEFAULT 0,
  formatted_number TEXT, last_modified INTEGER DEFAULT 0, block_reason INTEGER DEFAULT 0);
"""
_COLUMNS = (
    "_id,number,presentation,post_dial_digits,via_number,date,duration,data_usage,type,features,"
    "subscription_component_name,subscription_id,phone_account_address,new,name,numbertype,"
    "numberlabel,countryiso,voicemail_uri,is_read,geocoded_location,lookup_uri,matched_number,"
    "normalized_number,photo_id,formatted_number,last_modified,block_reason"
)


@dataclass(frozen=True)
class PastCall:
    id: int
    number: str
    name: str  # as known when the call was logged, else ""
    type: int  # INCOMING, OUTGOING, MISSED, REJECTED ...
    date_ms: int  # when it began
    duration_s: int
    new: bool  # a missed call nobody looked at yet


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def recent(world: World, limit: int = 200) -> list[PastCall]:
    """The latest first."""
    sql = "SELECT * FROM calls ORDER BY date DESC, _id DESC LIMIT ?"
    return [
        PastCall(
            id=row["_id"],
            number=str(row["number"] or ""),
            name=str(row["name"] or ""),
            type=int(row["type"] or 0),
            date_ms=int(row["date"] or 0),
            duration_s=int(row["duration"] or 0),
            new=bool(row["new"]),
        )
        for row in world.databases.query(PATH, sql, (limit,))
    ]


def add(world: World, number: str, kind: int, date_ms: int, duration_s: int = 0) -> int:
    known = contacts.by_number(world, number)
    row = {
        "number": number,
        "date": date_ms,
        "duration": duration_s,
        "type": kind,
        "new": 1,
        "is_read": 0 if kind == MISSED else 1,
        "name": known.name if known else None,
        "countryiso": "US",
        "normalized_number": normalized(number),
        "subscription_id": "1",
        "subscription_component_name": (
            "com.android.phone/com.android.services.telephony.TelephonyConnectionService"
        ),
        "last_modified": world.clock.now_ms(),
    }
    return world.databases.insert(PATH, "calls", row)


def mark_seen(world: World) -> None:
    world.databases.execute(PATH, "UPDATE calls SET new = 0, is_read = 1 WHERE new = 1")


def delete(world: World, call_id: int) -> None:
    world.databases.execute(PATH, "DELETE FROM calls WHERE _id = ?", (call_id,))


def clear(world: World) -> None:
    world.databases.execute(PATH, "DELETE FROM calls")


_CALLS = Table("calls", columns(_COLUMNS), order="date DESC", defaults={"new": 1})
CALL_LOG = Provider(
    "call_log",
    PATH,
    [Route("calls", _CALLS), Route("calls/#", _CALLS), Route("calls/filter/*", _CALLS, "number")],
)
