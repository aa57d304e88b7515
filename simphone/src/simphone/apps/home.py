"""The launcher: a grid of apps, and the list of recent tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.node import SCREEN, WIDTH, Fill, Icon, Label, Node, Rect, dp
from ..ui.scaffold import page
from ..ui.screen import HOME, App, Intent, Screen
from ..ui.widgets import Piece, box, line_of, row, text
from .builtin import MAIN, Builtin

if TYPE_CHECKING:
    from ..world import World

COLUMNS = 4
BANDS = 48
TOP, BOTTOM = (0x24, 0x3F, 0x7A), (0x93, 0xB2, 0xDA)  # the wallpaper runs from one to the other


def wallpaper() -> list[Node]:
    bands = []
    for n in range(BANDS):
        mix = (round(a + (b - a) * n / (BANDS - 1)) for a, b in zip(TOP, BOTTOM, strict=True))
        colour = "#" + "".join(f"{part:02x}" for part in mix)
        top = SCREEN.bottom * n // BANDS
        bands.append(box(Rect(0, top, WIDTH, SCREEN.bottom * (n + 1) // BANDS), Fill(colour)))
    return bands


def tile(world: World, app: App, column: int, line: int) -> Node:
    cell, height = WIDTH // COLUMNS, dp(112)
    left, top = column * cell, dp(250) + line * height
    frame = Rect(left, top, left + cell, top + height)
    side = dp(58)
    badge = Rect(
        left + (cell - side) // 2, top + dp(8), left + (cell + side) // 2, top + dp(8) + side
    )
    words = Rect(left + dp(4), badge.bottom + dp(6), left + cell - dp(4), badge.bottom + dp(28))
    intent = Intent(MAIN, package=app.package)
    return Node(
        frame,
        "android.widget.TextView",
        app.label,
        desc=app.label,
        id="icon",
        tap=partial(world.windows.launch, intent),
        children=(
            box(badge, Fill(app.colour, side // 2), Icon(app.icon, dp(30), "#FFFFFF")),
            box(words, line_of(app.label, words, dp(13), "#FFFFFF", "Medium", "centre")),
        ),
    )


class Home(Builtin):
    package = HOME
    label = "Home"
    launcher = False
    main = ".Launcher"

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.activity in self.names(".RecentsActivity") and intent.package == self.package:
            return Screen(".RecentsActivity")
        return super().open(world, intent)

    def view(self, world: World, screen: Screen) -> Node:
        return recents(world, screen) if screen.activity == ".RecentsActivity" else grid(world)


def grid(world: World) -> Node:
    now = world.clock.date()
    clock = Rect(0, dp(86), WIDTH, dp(156))
    day = Rect(0, dp(160), WIDTH, dp(190))
    time, date = now.strftime("%H:%M"), now.strftime("%A, %-d %B")
    face = [
        Node(
            clock,
            "android.widget.TextClock",
            time,
            id="clock",
            paint=(Label((time,), dp(64), "#FFFFFF", "Light", "centre"),),
        ),
        Node(
            day,
            "android.widget.TextView",
            date,
            id="date",
            paint=(Label((date,), dp(17), "#FFFFFF", "Regular", "centre"),),
        ),
    ]
    apps = [app for app in world.apps.values() if app.launcher and enabled(world, app)]
    tiles = [tile(world, app, n % COLUMNS, n // COLUMNS) for n, app in enumerate(apps)]
    return Node(
        SCREEN, "android.widget.FrameLayout", id="launcher", children=(*wallpaper(), *face, *tiles)
    )


def enabled(world: World, app: App) -> bool:
    installed = world.packages.get(app.package)
    return installed is None or installed.enabled


def recents(world: World, screen: Screen) -> Node:
    windows = world.windows
    tasks = [task for task in reversed(windows.tasks) if task.package != HOME]
    pieces: list[Piece] = []
    for task in tasks:
        app = world.apps[task.package]
        go = partial(windows.launch, Intent(MAIN, package=task.package))
        pieces.append(row(app.label, icon=app.icon, avatar=app.colour, tap=go, desc=app.label))
    if not tasks:
        pieces.append(text("No recent items", colour=theme.TEXT_SOFT))
    return page(screen, "Recent apps", pieces)
