"""The notes app: a list, and an editor over one note."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.node import Node
from ..ui.scaffold import Tool, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Piece, field, row, text
from . import notes_store as store
from .asking import confirm
from .builtin import Builtin
from .when import brief

if TYPE_CHECKING:
    from ..world import World

MAIN_ACTIVITY, EDITOR = ".activities.MainActivity", ".activities.NoteActivity"
BODY_LINES = 14
MOST_SHOWN = 500


class Notes(Builtin):
    package = store.PACKAGE
    label = "Notes"
    icon = "note_text"
    colour = "#C07A2B"
    main = MAIN_ACTIVITY

    def create(self, world: World) -> None:
        store.create(world)

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package == self.package and intent.activity in self.names(EDITOR):
            return editor(world, intent.extras.get("note_id"))
        return super().open(world, intent)

    def view(self, world: World, screen: Screen) -> Node:
        return edit_view(world, screen) if screen.activity == EDITOR else list_view(world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        if not screen.dialog or screen.dialog.get("kind") != "delete":
            return None

        def remove() -> None:
            note_id = screen.args.get("id")
            if note_id is not None:
                store.delete(world, note_id)
            world.windows.finish()

        return confirm(screen, "Delete note?", "This cannot be undone.", "Delete", remove)


def editor(world: World, note_id: object) -> Screen:
    """An editor over this note; over a new one where there is no such note."""
    found = store.note(world, note_id) if isinstance(note_id, int) else None
    if found is None:
        return Screen(EDITOR, {"id": None}, {"title": "", "body": ""})
    return Screen(EDITOR, {"id": found.id}, {"title": found.title, "body": found.body})


def list_view(world: World, screen: Screen) -> Node:
    words = screen.fields.get("search", "")
    searching = bool(screen.args.get("searching"))

    def search() -> None:
        # A screen of its own, so that back leads out of it.
        world.windows.push(Screen(MAIN_ACTIVITY, {"searching": True}, focus="search"))

    def go(note_id: int | None) -> None:
        world.windows.push(editor(world, note_id))

    found = store.notes(world, words)
    now = world.clock.date()
    pieces: list[Piece] = [field(screen, "search", "Search notes")] if searching else []
    pieces += [
        row(
            one_line(note.title) or one_line(note.body) or "Untitled",
            one_line(note.body) if note.title else "",
            trailing=brief(note.modified_ms, now),
            tap=partial(go, note.id),
            most=1,
        )
        for note in found[:MOST_SHOWN]
    ]
    if not found:
        empty = "No notes found" if words.strip() else "No notes yet"
        pieces.append(text(empty, colour=theme.TEXT_SOFT))
    tool = (
        Tool("close", "Close search", world.windows.finish)
        if searching
        else Tool("magnify", "Search", search, "search")
    )
    return page(screen, "Notes", pieces, tools=[tool],
                fab=Tool("plus", "New note", partial(go, None), "fab"))  # fmt: skip


def one_line(words: str) -> str:
    return " ".join(words[:300].split())


def edit_view(world: World, screen: Screen) -> Node:
    windows = world.windows

    def save() -> None:
        title, body = (screen.fields.get(key, "") for key in ("title", "body"))
        screen.focus = ""
        if title.strip() or body.strip():
            store.save(world, screen.args.get("id"), title.strip(), body)
        windows.finish()

    def new_line() -> None:
        screen.fields["body"] = screen.fields.get("body", "") + "\n"

    def remove() -> None:
        screen.focus = ""
        screen.dialog = {"kind": "delete"}

    def to_body() -> None:
        screen.focus = "body"

    new = screen.args.get("id") is None
    tools = [] if new else [Tool("delete_outline", "Delete", remove, "delete_note")]
    tools.append(Tool("check", "Save", save, "save_note"))
    lines = BODY_LINES if not screen.focus else BODY_LINES - 4
    return page(
        screen,
        "New note" if new else "Edit note",
        [
            field(screen, "title", "Title", submit=to_body),
            field(screen, "body", "Note", lines=lines, submit=new_line),
        ],
        up=windows.back,
        tools=tools,
    )
