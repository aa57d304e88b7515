"""What is on the screen now: the front app's window, and what lies over it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from . import theme, touch
from .decor import navigation_bar, status_bar
from .keyboard import keyboard
from .node import Node
from .scaffold import dialog
from .screen import HOME, SYSTEM_UI, Screen
from .widgets import Button

if TYPE_CHECKING:
    from ..world import World


class Window(NamedTuple):
    """One layer of the frame."""

    name: str  # as dumpsys spells it
    package: str
    root: Node
    takes_focus: bool = True
    modal: bool = False  # nothing below can be tapped


def composed(world: World) -> list[Window]:
    """Every window, lowest first; what dies while it draws itself is missing."""
    manager = world.windows
    front = manager.front()
    if front is None or not manager.awake:
        return []
    package, screen = front
    app, name = world.apps[package], manager.component(package, screen.activity)
    windows: list[Window] = []
    with manager.alive(package):
        windows.append(Window(name, package, app.view(world, screen)))
        if screen.dialog is not None and (root := app.dialog(world, screen)) is not None:
            windows.append(Window(name, package, root, modal=True))
    if manager.prompt is not None:
        owner, state = manager.prompt
        with manager.alive(owner):
            if (root := world.apps[owner].dialog(world, state)) is not None:
                title = manager.component(owner, state.activity)
                windows.append(Window(title, owner, root, modal=True))
    if manager.typing() is not None:
        press = partial(touch.press_key, world)
        board = keyboard(press, symbols=manager.symbols, shifted=manager.shifted)
        windows.append(Window("InputMethod", "", board, takes_focus=False))
    if manager.stopped:
        title = f"Application Error: {manager.stopped}"
        windows.append(Window(title, "android", error_dialog(world), modal=True))
    with manager.alive(SYSTEM_UI):
        windows += system_windows(world, home=package == HOME and screen.activity == ".Launcher")
    return windows


def system_windows(world: World, *, home: bool) -> list[Window]:
    """The shade, where it is pulled down, and the two bars."""
    manager = world.windows
    windows: list[Window] = []
    if manager.shade:
        root = world.apps[SYSTEM_UI].view(world, Screen("NotificationShade"))
        windows.append(Window("NotificationShade", SYSTEM_UI, root, modal=True))
    light = home or manager.shade
    ink = "#FFFFFF" if light else theme.TEXT
    ground = "" if light else theme.BACKGROUND
    deeds = {"Back": manager.back, "Home": manager.home, "Overview": manager.overview}
    bars = (status_bar(world, ink), navigation_bar(lambda name: deeds[name](), ink, ground))
    return [*windows, *(Window("StatusBar", SYSTEM_UI, b, takes_focus=False) for b in bars)]


def error_dialog(world: World) -> Node:
    """Says which app died."""

    def close() -> None:
        world.windows.stopped = ""

    app = world.apps.get(world.windows.stopped)
    title = f"{app.label if app else world.windows.stopped} keeps stopping"
    return dialog(title, buttons=(Button("Close app", close, "android:id/aerr_close", "plain"),))
