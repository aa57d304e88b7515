"""Where notes are kept: notes.db, one row a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.simplemobiletools.notes"
PATH = f"/data/data/{PACKAGE}/databases/notes.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '', created INTEGER NOT NULL DEFAULT 0,
  modified INTEGER NOT NULL DEFAULT 0);
"""


@dataclass(frozen=True)
class Note:
    id: int
    title: str
    body: str
    modified_ms: int


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def notes(world: World, words: str = "") -> list[Note]:
    """The latest first; with words, those that hold them."""
    # Case is folded here: SQLite's own lower() knows ASCII only.
    sql = "SELECT _id, title, body, modified FROM notes ORDER BY modified DESC, _id DESC"
    found = [_note(row) for row in world.databases.query(PATH, sql)]
    wanted = words.strip().casefold()
    return [note for note in found if wanted in f"{note.title}\n{note.body}".casefold()]


def note(world: World, note_id: int) -> Note | None:
    sql = "SELECT _id, title, body, modified FROM notes WHERE _id = ?"
    rows = world.databases.query(PATH, sql, (note_id,))
    return _note(rows[0]) if rows else None


def save(world: World, note_id: int | None, title: str, body: str) -> int:
    """A new note, or a changed one; one that was deleted meanwhile is new again."""
    now = world.clock.now_ms()
    sql = "UPDATE notes SET title = ?, body = ?, modified = ? WHERE _id = ?"
    if note_id is not None and world.databases.execute(PATH, sql, (title, body, now, note_id)):
        return note_id
    row = {"title": title, "body": body, "created": now, "modified": now}
    return world.databases.insert(PATH, "notes", row)


def delete(world: World, note_id: int) -> None:
    world.databases.execute(PATH, "DELETE FROM notes WHERE _id = ?", (note_id,))


def _note(row: dict[str, object]) -> Note:
    """Whatever another program wrote into a column is shown as text."""
    modified = row["modified"]
    return Note(
        int(str(row["_id"])),
        "" if row["title"] is None else str(row["title"]),
        "" if row["body"] is None else str(row["body"]),
        modified if isinstance(modified, int) else 0,
    )
