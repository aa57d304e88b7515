"""The dialogs of the Files app: what to do with an item, a name for it, sure about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..providers.media import mime_of
from ..ui import theme
from ..ui.node import Action, Node
from ..ui.scaffold import dialog
from ..ui.screen import Screen
from ..ui.widgets import Button, Piece, field, text
from . import file_deeds as deeds
from . import file_kinds as kinds
from .asking import choose, confirm, error, tell
from .when import moment

if TYPE_CHECKING:
    from ..world import World


def file_dialog(world: World, screen: Screen) -> Node | None:
    match screen.dialog:
        case {"kind": "deeds", "path": str(path)}:
            return deed_list(world, screen, path)
        case {"kind": "rename", "path": str(path)}:
            return name_dialog(screen, "Rename", partial(deeds.rename, world, path))
        case {"kind": "new_folder"}:
            folder = str(screen.args["folder"])
            return name_dialog(screen, "New folder", partial(deeds.make_folder, world, folder))
        case {"kind": "delete", "path": str(path)}:
            message = f"“{name_of(path)}” will be permanently deleted."
            remove = attempt(screen, "Delete failed", partial(deeds.delete, world, path))
            return confirm(screen, "Delete?", message, "Delete", remove)
        case {"kind": "details", "path": str(path)}:
            return details(world, screen, path)
        case {"kind": "tell", "title": str(title), "message": str(message)}:
            return tell(screen, title, message)
    return None


def name_of(path: str) -> str:
    return kinds.shown(path.rpartition("/")[2])


def attempt(screen: Screen, title: str, deed: Action) -> Action:
    """The deed; where it is refused, the reason in a dialog."""

    def run() -> None:
        try:
            deed()
        except OSError as refused:
            reason = refused.strerror or str(refused)
            screen.dialog = {"kind": "tell", "title": title, "message": reason}

    return run


def deed_list(world: World, screen: Screen, path: str) -> Node:
    def turn_to(kind: str) -> None:
        screen.dialog = {"kind": kind, "path": path}

    def rename() -> None:
        turn_to("rename")
        # A name of broken bytes cannot be typed: one starts from what is readable of it.
        screen.fields["name"] = name_of(path)
        screen.focus = "name"

    def hold(verb: str) -> None:
        world.windows.tasks[-1].screens[0].args["held"] = {"verb": verb, "path": path}

    return choose(screen, name_of(path), [
        ("pencil_outline", "Rename", rename),
        ("content_copy", "Copy", partial(hold, "Copy")),
        ("folder_outline", "Move", partial(hold, "Move")),
        ("delete_outline", "Delete", partial(turn_to, "delete")),
        ("information_outline", "Details", partial(turn_to, "details")),
    ])  # fmt: skip


def name_dialog(screen: Screen, title: str, deed: Callable[[str], object]) -> Node:
    """Asks for a name; one that is refused stays, with the reason."""
    assert screen.dialog is not None
    state = screen.dialog

    def close() -> None:
        screen.dialog, screen.focus = None, ""

    def done() -> None:
        try:
            deed(screen.fields.get("name", "").strip())
        except OSError as refused:
            state["error"] = refused.strerror or str(refused)
        else:
            close()

    pieces: list[Piece] = [
        field(screen, "name", "Name", submit=done),
        *error(state.get("error", "")),
    ]
    return dialog(
        title,
        pieces=pieces,
        buttons=(
            Button("Cancel", close, "android:id/button2", "plain"),
            Button("OK", done, "android:id/button1", "plain"),
        ),
        keyboard=bool(screen.focus),
    )


def details(world: World, screen: Screen, path: str) -> Node:
    try:
        found = deeds.item(world, path)
    except OSError as refused:
        return tell(screen, "Details", refused.strerror or str(refused))
    modified = moment(int(found.modified_s * 1000))
    facts = [
        ("Name", kinds.shown(found.name)),
        ("Type", "Folder" if found.folder else mime_of(found.name)),
        *([] if found.folder else [("Size", f"{kinds.size(found.size)} ({found.size} bytes)")]),
        ("Modified", f"{modified:%Y-%m-%d %H:%M}"),
        ("Path", kinds.shown(path)),
    ]
    pieces = [
        text(f"{name}: {value}", size=theme.SMALL, colour=theme.TEXT_SOFT, most=6)
        for name, value in facts
    ]

    def close() -> None:
        screen.dialog = None

    return dialog("Details", pieces=pieces,
                  buttons=(Button("OK", close, "android:id/button1", "plain"),))  # fmt: skip
