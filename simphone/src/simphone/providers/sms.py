"""Text messages: content://sms and content://mms-sms over mmssms.db."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .numbers import normalized, same
from .provider import Provider, Result, Route, Table, Values, Wanted, Writes, columns
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.telephony/databases/mmssms.db"
INBOX, SENT, DRAFT, OUTBOX, FAILED, QUEUED = 1, 2, 3, 4, 5, 6
BOXES = {"inbox": 1, "sent": 2, "draft": 3, "outbox": 4, "failed": 5, "queued": 6}

# A thread's summary follows its messages inside the database, so that it is right whoever
# writes: an app, the radio, or sqlite3.
_SUMMARY = """
  UPDATE threads SET
    message_count = (SELECT count(*) FROM sms WHERE thread_id = {row}.thread_id AND type != 3),
    has_draft = (SELECT count(*) > 0 FROM sms WHERE thread_id = {row}.thread_id AND type = 3),
    error = (SELECT count(*) FROM sms WHERE thread_id = {row}.thread_id AND type = 5),
    read = (SELECT min(1, min(read)) FROM sms WHERE thread_id = {row}.thread_id),
    date = coalesce((SELECT max(date) FROM sms WHERE thread_id = {row}.thread_id), date),
    snippet = (SELECT body FROM sms WHERE thread_id = {row}.thread_id
               ORDER BY date DESC, _id DESC LIMIT 1)
  WHERE _id = {row}.thread_id;
"""
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS sms (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id INTEGER, address TEXT, person INTEGER,
  date INTEGER, date_sent INTEGER DEFAULT 0, protocol INTEGER, read INTEGER DEFAULT 0,
  status INTEGER DEFAULT -1, type INTEGER, reply_path_present INTEGER, subject TEXT, body TEXT,
  service_center TEXT, locked INTEGER DEFAULT 0, sub_id INTEGER DEFAULT -1,
  error_code INTEGER DEFAULT -1, creator TEXT, seen INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS threads (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, date INTEGER DEFAULT 0,
  message_count INTEGER DEFAULT 0, recipient_ids TEXT, snippet TEXT,
  snippet_cs INTEGER DEFAULT 0, read INTEGER DEFAULT 1, archived INTEGER DEFAULT 0,
  type INTEGER DEFAULT 0, error INTEGER DEFAULT 0, has_attachment INTEGER DEFAULT 0,
  has_draft INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS canonical_addresses (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT, sub_id INTEGER DEFAULT -1);
CREATE TABLE IF NOT EXISTS pdu (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id INTEGER, date INTEGER,
  date_sent INTEGER DEFAULT 0, msg_box INTEGER, read INTEGER DEFAULT 0, m_id TEXT, sub TEXT,
  ct_t TEXT, m_type INTEGER, locked INTEGER DEFAULT 0, seen INTEGER DEFAULT 0);
CREATE INDEX IF NOT EXISTS sms_thread ON sms (thread_id, date);
CREATE TRIGGER IF NOT EXISTS sms_update_thread_on_insert AFTER INSERT ON sms BEGIN
{_SUMMARY.format(row="new")} END;
CREATE TRIGGER IF NOT EXISTS sms_update_thread_on_update AFTER UPDATE ON sms BEGIN
{_SUMMARY.format(row="new")} END;
CREATE TRIGGER IF NOT EXISTS sms_update_thread_on_delete AFTER DELETE ON sms BEGIN
{_SUMMARY.format(row="old")}
  DELETE FROM threads WHERE _id = old.thread_id
    AND NOT EXISTS (SELECT 1 FROM sms WHERE thread_id = old.thread_id);
END;
"""


@dataclass(frozen=True)
class Message:
    id: int
    thread_id: int
    address: str
    body: str
    date_ms: int
    type: int  # INBOX, SENT, DRAFT, OUTBOX, FAILED or QUEUED
    read: bool


@dataclass(frozen=True)
class Thread:
    id: int
    address: str  # the other side's number
    snippet: str  # of the last message
    date_ms: int
    count: int
    read: bool


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def threads(world: World) -> list[Thread]:
    """Every conversation, the latest first."""
    sql = """SELECT t._id AS id, coalesce(a.address, '') AS address, t.date, t.message_count,
             coalesce(t.snippet, '') AS snippet, t.read FROM threads t
             LEFT JOIN canonical_addresses a ON a._id = CAST(t.recipient_ids AS INTEGER)
             ORDER BY t.date DESC, t._id DESC"""
    return [
        Thread(r["id"], r["address"], r["snippet"], r["date"], r["message_count"], bool(r["read"]))
        for r in world.databases.query(PATH, sql)
    ]


def thread(world: World, thread_id: int) -> Thread | None:
    return next((each for each in threads(world) if each.id == thread_id), None)


def messages(world: World, thread_id: int) -> list[Message]:
    """A conversation's messages without drafts, the oldest first."""
    sql = "SELECT * FROM sms WHERE thread_id = ? AND type != 3 ORDER BY date, _id"
    return [_message(row) for row in world.databases.query(PATH, sql, (thread_id,))]


def message(world: World, message_id: int) -> Message | None:
    rows = world.databases.query(PATH, "SELECT * FROM sms WHERE _id = ?", (message_id,))
    return _message(rows[0]) if rows else None


def thread_for(world: World, number: str) -> int:
    """The conversation with this number, made where there is none."""
    known = world.databases.query(PATH, "SELECT _id, address FROM canonical_addresses")
    address = next((row["_id"] for row in known if same(str(row["address"]), number)), None)
    if address is None:
        spelled = normalized(number) if number.lstrip("+").isdigit() else number.strip()
        address = world.databases.insert(PATH, "canonical_addresses", {"address": spelled})
    sql = "SELECT _id FROM threads WHERE recipient_ids = ?"
    if rows := world.databases.query(PATH, sql, (str(address),)):
        return int(rows[0]["_id"])
    return world.databases.insert(
        PATH, "threads", {"recipient_ids": str(address), "date": world.clock.now_ms()}
    )


def add(
    world: World, number: str, body: str, box: int, *, date_ms: int = 0, read: bool = True
) -> int:
    """A row as the default SMS app or the radio writes it. To really send, see Telephony."""
    date = date_ms or world.clock.now_ms()
    row = {
        "thread_id": thread_for(world, number),
        "address": number,
        "date": date,
        "date_sent": date if box == INBOX else 0,
        "protocol": 0 if box == INBOX else None,
        "read": int(read),
        "seen": int(read),
        "type": box,
        "body": body,
        "service_center": "+15550000000" if box == INBOX else None,
        "sub_id": 1,
        "creator": "com.android.messaging",
    }
    return world.databases.insert(PATH, "sms", row)


def set_type(world: World, message_id: int, box: int, *, error_code: int = -1) -> None:
    sql = "UPDATE sms SET type = ?, error_code = ? WHERE _id = ?"
    world.databases.execute(PATH, sql, (box, error_code, message_id))


def mark_read(world: World, thread_id: int) -> None:
    sql = "UPDATE sms SET read = 1, seen = 1 WHERE thread_id = ? AND (read = 0 OR seen = 0)"
    world.databases.execute(PATH, sql, (thread_id,))


def delete_message(world: World, message_id: int) -> None:
    world.databases.execute(PATH, "DELETE FROM sms WHERE _id = ?", (message_id,))


def delete_thread(world: World, thread_id: int) -> None:
    world.databases.execute(PATH, "DELETE FROM sms WHERE thread_id = ?", (thread_id,))
    world.databases.execute(PATH, "DELETE FROM threads WHERE _id = ?", (thread_id,))


def _message(row: dict[str, Any]) -> Message:
    return Message(
        id=row["_id"],
        thread_id=row["thread_id"] or 0,
        address=str(row["address"] or ""),
        body=str(row["body"] or ""),
        date_ms=int(row["date"] or 0),
        type=int(row["type"] or 0),
        read=bool(row["read"]),
    )


_COLUMNS = (
    "_id,thread_id,address,person,date,date_sent,protocol,read,status,type,reply_path_present,"
    "subject,body,service_center,locked,sub_id,error_code,creator,seen"
)
_SMS = columns(_COLUMNS)
_ALL = Table("sms", _SMS, order="date DESC")
_CONVERSATIONS = Table(
    "",
    ("thread_id", "msg_count", "snippet"),
    view="(SELECT _id AS thread_id, message_count AS msg_count, snippet, date FROM threads)",
    order="date DESC",
)
_THREADS = Table(
    "",
    columns("_id,date,message_count,recipient_ids,snippet,snippet_cs,read,type,error"),
    view="threads",
    order="date DESC",
)
_ADDRESSES = Table("", ("_id", "address"), view="canonical_addresses")
_PDU = columns("_id,thread_id,date,date_sent,msg_box,read,m_id,sub,ct_t,m_type,locked,seen")


class SmsProvider(Provider):
    def checked(self, world: World, uri: Uri, table: Table, values: Values) -> Values:
        number = str(values.get("address") or "")
        box = BOXES.get(uri.path[0] if uri.path else "", INBOX)
        return {
            "thread_id": thread_for(world, number),
            "type": box,
            "date": world.clock.now_ms(),
            **values,
        }


class ThreadsProvider(Provider):
    def query(self, world: World, uri: Uri, wanted: Wanted) -> Result:
        # Without simple=true Android answers with the messages themselves.
        if uri.path == ("conversations",) and not uri.flag("simple"):
            latest = "_id IN (SELECT max(_id) FROM sms GROUP BY thread_id)"
            where = f"({wanted.where}) AND {latest}" if wanted.where else latest
            return SMS.query(world, Uri(uri.text, "sms", ()), replace(wanted, where=where))
        return super().query(world, uri, wanted)


SMS = SmsProvider(
    "sms",
    PATH,
    [
        Route("", _ALL),
        Route("#", _ALL),
        *(
            Route(name, Table("sms", _SMS, where=f"type = {box}", order="date DESC"))
            for name, box in BOXES.items()
        ),
        Route("conversations", _CONVERSATIONS),
        Route("conversations/#", _ALL, by="thread_id"),
    ],
    writes=Writes.IGNORED,
    strict=False,
)
MMS = Provider("mms", PATH, [Route("", Table("pdu", _PDU))], writes=Writes.IGNORED, strict=False)
MMS_SMS = ThreadsProvider(
    "mms-sms",
    PATH,
    [
        Route("conversations", _THREADS),
        Route("conversations/#", _ALL, by="thread_id"),
        Route("canonical-addresses", _ADDRESSES),
        Route("canonical-address/#", _ADDRESSES),
    ],
    writes=Writes.IGNORED,
    strict=False,
)
