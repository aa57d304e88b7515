"""The Files app: the shared storage, folder by folder.

A screen's args: `folder`, or `path` of what a viewer shows. What was copied or cut waits in the
args of the task's first screen as `held`, so every folder of the task can paste it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.node import Node, dp
from ..ui.scaffold import Tool, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Button, Piece, bar, field, row, space, text
from . import file_deeds as deeds
from . import file_kinds as kinds
from .builtin import VIEW, Builtin
from .file_dialogs import file_dialog
from .file_viewer import VIEWER, viewer, viewer_page
from .opening import open_file, path_of
from .when import brief

if TYPE_CHECKING:
    from ..world import World

MAIN_ACTIVITY = ".files.FilesActivity"
DOWNLOADS = "android.intent.action.VIEW_DOWNLOADS"
STORAGE = "Internal storage"
MOST_SHOWN = 500


class Files(Builtin):
    package = deeds.PACKAGE
    label = "Files"
    icon = "folder"
    colour = "#3B7DD8"
    main = MAIN_ACTIVITY

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        if intent.action == DOWNLOADS:
            return folder_screen(f"{deeds.ROOT}/Download")
        path = path_of(intent.data)
        if intent.action == VIEW and path:
            return viewer(world, path)
        opened = super().open(world, intent)
        return opened and folder_screen(deeds.ROOT)

    def view(self, world: World, screen: Screen) -> Node:
        if screen.activity == VIEWER:
            return viewer_page(world, screen)
        return folder_page(world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        return file_dialog(world, screen)


def folder_screen(folder: str) -> Screen:
    return Screen(MAIN_ACTIVITY, {"folder": folder})


def held(world: World) -> dict[str, str] | None:
    """What was copied or cut and waits to be pasted."""
    found = world.windows.tasks[-1].screens[0].args.get("held")
    return found if isinstance(found, dict) else None


def let_go(world: World) -> None:
    world.windows.tasks[-1].screens[0].args.pop("held", None)


def folder_page(world: World, screen: Screen) -> Node:
    folder = str(screen.args["folder"])
    searching = bool(screen.args.get("searching"))
    words = screen.fields.get("search", "").strip()

    def search() -> None:
        # A screen of its own, so that back leads out of it.
        args = {"folder": folder, "searching": True}
        world.windows.push(Screen(MAIN_ACTIVITY, args, focus="search"))

    def new_folder() -> None:
        screen.fields["name"] = ""
        screen.dialog, screen.focus = {"kind": "new_folder"}, "name"

    pieces: list[Piece] = [field(screen, "search", "Search files")] if searching else []
    pieces += listing(world, screen, folder, words if searching else "")
    at_root = folder == deeds.ROOT
    tool = (
        Tool("close", "Close search", world.windows.finish)
        if searching
        else Tool("magnify", "Search", search)
    )
    return page(
        screen,
        STORAGE if at_root else kinds.shown(folder.rpartition("/")[2]),
        pieces,
        up=None if len(world.windows.tasks[-1].screens) == 1 else world.windows.back,
        tools=[tool],
        fab=Tool("plus", "New folder", new_folder, "new_folder"),
        footer=paste_bar(world, screen, folder),
    )


def listing(world: World, screen: Screen, folder: str, words: str) -> list[Piece]:
    try:
        found = deeds.search(world, folder, words) if words else deeds.items(world, folder)
    except OSError as error:
        return [text(f"Can’t open this folder: {error.strerror}", colour=theme.TEXT_SOFT)]
    now = world.clock.date()
    pieces = []
    for each in found[:MOST_SHOWN]:
        when = brief(int(each.modified_s * 1000), now)
        pieces.append(
            row(
                kinds.shown(each.name),
                when if each.folder else f"{kinds.size(each.size)}, {when}",
                icon="folder" if each.folder else kinds.icon(each.name),
                avatar="#5B7FC7" if each.folder else "",
                tap=partial(open_item, world, screen, each),
                hold=partial(ask_what, screen, each.path),
                most=1,
            )
        )
    if not found:
        pieces.append(text("No items" if not words else "No matches", colour=theme.TEXT_SOFT))
    if len(found) > MOST_SHOWN:
        note = f"{len(found) - MOST_SHOWN} more items; search to find them"
        pieces.append(text(note, colour=theme.TEXT_SOFT))
    return pieces


def open_item(world: World, screen: Screen, each: deeds.Item) -> None:
    screen.focus = ""
    if each.folder:
        world.windows.push(folder_screen(each.path))
    elif not open_file(world, each.path):
        screen.dialog = {"kind": "tell", "title": "Can’t open file",
                         "message": "No app can open this file"}  # fmt: skip


def ask_what(screen: Screen, path: str) -> None:
    screen.focus = ""
    screen.dialog = {"kind": "deeds", "path": path}


def paste_bar(world: World, screen: Screen, folder: str) -> list[Piece]:
    waiting = held(world)
    if waiting is None:
        return []
    verb, path = waiting["verb"], waiting["path"]

    def paste() -> None:
        try:
            (deeds.copy if verb == "Copy" else deeds.move)(world, path, folder)
        except OSError as error:
            screen.dialog = {"kind": "tell", "title": f"{verb} failed",
                             "message": error.strerror or str(error)}  # fmt: skip
        let_go(world)

    name = kinds.shown(path.rpartition("/")[2])
    return [
        text(f"{verb} “{name}”", size=theme.SMALL, colour=theme.TEXT_SOFT, most=1),
        bar(Button("Cancel", partial(let_go, world), "cancel", "plain"),
            Button("Paste here", paste, "paste")),
        space(dp(4)),
    ]  # fmt: skip
