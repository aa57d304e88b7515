"""What an app is to the window manager: plain screen state in, a tree of nodes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..state import Json

if TYPE_CHECKING:
    from ..world import World
    from .node import Node

HOME = "com.android.launcher3"
SYSTEM_UI = "com.android.systemui"


@dataclass
class Intent:
    """What `am start`, a notification or another app asks for."""

    action: str = ""
    data: str = ""  # a URI
    mime: str = ""
    package: str = ""
    activity: str = ""  # ".Name" or a full class name; "" for whatever the package opens
    extras: dict[str, Json] = field(default_factory=dict)


@dataclass
class Screen:
    """One activity on a back stack. Plain data: a snapshot carries it as it is."""

    activity: str  # ".MainActivity"
    args: dict[str, Json] = field(default_factory=dict)  # which thread, which page of a wizard
    fields: dict[str, str] = field(default_factory=dict)  # text typed, by field key
    focus: str = ""  # key of the field that has the keyboard
    scroll: dict[str, int] = field(default_factory=dict)  # pixels, by list key
    dialog: dict[str, Json] | None = None  # the app's own dialog over this screen


@dataclass
class Task:
    """A back stack."""

    id: int
    package: str
    screens: list[Screen]


class App(Protocol):
    """A built-in app. It keeps no state of its own: screens and databases are its memory."""

    package: str
    label: str
    icon: str  # a Material Design icon's name
    colour: str  # of its launcher icon, "#rrggbb"
    permissions: tuple[str, ...]
    launcher: bool  # on the home screen's grid

    def create(self, world: World) -> None:
        """First boot of a fresh disk: make databases, files, default rows."""
        ...

    def open(self, world: World, intent: Intent) -> Screen | None:
        """The screen this intent leads to; None where the app does not answer to it. Only asked:
        nothing may come of it."""
        ...

    def arrived(self, world: World, screen: Screen) -> None:
        """A screen that `open` made is on its back stack: what it starts, it starts now."""
        ...

    def resumed(self, world: World, screen: Screen) -> None:
        """The screen is in front, again or for the first time."""
        ...

    def paused(self, world: World, screen: Screen) -> None:
        """Another screen is in front, or this one is closed: what must not be lost, is kept now."""
        ...

    def view(self, world: World, screen: Screen) -> Node:
        """The whole screen, laid out below the status bar."""
        ...

    def dialog(self, world: World, screen: Screen) -> Node | None:
        """The dialog that `screen.dialog` describes: a window of its own over the screen."""
        ...
