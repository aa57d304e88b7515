"""What is on the screen now: the front app's window, and what lies over it."""

from __future__ import annotations

from collections.abc import Callable
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
        windows.append(Window(title, "android", stopped_dialog(world), modal=True))
    if manager.not_responding:
        title = f"Application Not Responding: {manager.not_responding}"
        windows.append(Window(title, "android", hung_dialog(world), modal=True))
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


def stopped_dialog(world: World) -> Node:
    """Says which app died."""
    manager = world.windows

    def close() -> None:
        manager.stopped = ""

    return error_dialog(world, manager.stopped, "keeps stopping", {"Close app": close})


def hung_dialog(world: World) -> Node:
    """Says which app does not answer: ended, or waited for."""
    manager = world.windows
    package = manager.not_responding

    def wait() -> None:
        manager.not_responding = ""

    def close() -> None:
        wait()
        manager.stop_package(package)
        manager.moved()

    return error_dialog(world, package, "isn't responding", {"Close app": close, "Wait": wait})


def error_dialog(
    world: World, package: str, trouble: str, deeds: dict[str, Callable[[], None]]
) -> Node:
    """What the system shows over an app in trouble, with Android's own ids."""
    ids = {"Close app": "android:id/aerr_close", "Wait": "android:id/aerr_wait"}
    app = world.apps.get(package)
    buttons = tuple(Button(label, deed, ids[label], "plain") for label, deed in deeds.items())
    return dialog(f"{app.label if app else package} {trouble}", buttons=buttons)
