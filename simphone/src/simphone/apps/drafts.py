"""Messages that were typed and not sent: the Messages app's own, not the provider's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..providers.numbers import normalized

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.messaging/databases/bugle_db"
SCHEMA = "CREATE TABLE IF NOT EXISTS drafts (number TEXT PRIMARY KEY, body TEXT NOT NULL);"


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def drafts(world: World) -> dict[str, str]:
    """By normalized number."""
    rows = world.databases.query(PATH, "SELECT number, body FROM drafts ORDER BY number")
    return {str(row["number"]): str(row["body"]) for row in rows}


def draft(world: World, number: str) -> str:
    return drafts(world).get(normalized(number), "")


def keep(world: World, number: str, body: str) -> None:
    """Replaces the draft to this number; an empty one is none."""
    args = (normalized(number), body)
    if body.strip():
        world.databases.execute(PATH, "INSERT OR REPLACE INTO drafts VALUES (?, ?)", args)
    else:
        world.databases.execute(PATH, "DELETE FROM drafts WHERE number = ?", args[:1])
