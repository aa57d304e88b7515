"""Fingers and keys: what a tap, a swipe, typed text or a key does to what is in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import keyboard, theme
from .node import Action, Node, hit
from .screen import Screen

if TYPE_CHECKING:
    from ..world import World
    from .frame import Window

LONG_PRESS_MS = 500
STILL_PX = 24  # a finger that moved less than this did not move
PULL_PX = 300  # a pull on the shade
SCROLL_STEP_PX = 120

DIGITS = {7 + digit: str(digit) for digit in range(10)}
LETTERS = {29 + index: chr(ord("a") + index) for index in range(26)}
CHARACTERS = (
    DIGITS
    | LETTERS
    | {
        55: ",",
        56: ".",
        62: " ",
        69: "-",
        70: "=",
        74: ";",
        75: "'",
        76: "/",
        77: "@",
        81: "+",
    }
)


def under(
    world: World, x: int, y: int, wanted: Callable[[Node], bool]
) -> tuple[Window, Node] | None:
    """The topmost wanted node here and its window, unless a window above it is in the way."""
    for window in reversed(world.windows.layers()):
        if found := hit(window.root, x, y, wanted):
            return window, found
        if window.modal or window.root.bounds.holds(x, y):
            outside(world, window, x, y)
            return None
    return None


def outside(world: World, window: Window, x: int, y: int) -> None:
    """A touch beside an app's dialog closes it; beside a system prompt it does nothing."""
    front = world.windows.front()
    if front is None or world.windows.prompt or not window.modal or window.package != front[0]:
        return
    if not window.root.bounds.holds(x, y):
        front[1].dialog = None
        front[1].focus = ""


def act(world: World, window: Window, deed: Action) -> None:
    """An app's answer to a finger or a key."""
    world.windows.moved()
    with world.windows.alive(window.package):
        deed()


def tap(world: World, x: int, y: int) -> None:
    found = under(world, x, y, lambda node: node.clickable)
    if found is None:
        return
    window, node = found
    if node.field:
        world.windows.moved()
        focus(world, node.field)
    elif node.tap is not None:
        act(world, window, node.tap)


def focus(world: World, field: str) -> None:
    """The field gets the keyboard, and its list is scrolled until the keyboard does not hide it."""
    owner = world.windows.prompt or world.windows.front()
    if owner is None:
        return
    owner[1].focus = field
    while True:
        nodes = [node for window in world.windows.layers() for node in window.root.walk()]
        if any(node.field == field and node.bounds == node.frame for node in nodes):
            return
        lists = [node for node in nodes if node.scrolls and node.offset < node.reach]
        if not lists:
            return
        owner[1].scroll[lists[0].scrolls] = min(lists[0].reach, lists[0].offset + SCROLL_STEP_PX)


def long_press(world: World, x: int, y: int) -> None:
    found = under(world, x, y, lambda node: node.hold is not None)
    if found is not None and found[1].hold is not None:
        act(world, found[0], found[1].hold)
    else:
        tap(world, x, y)


def swipe(world: World, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
    (x, y), down = start, end[1] - start[1]
    if abs(down) < STILL_PX and abs(end[0] - x) < STILL_PX:
        (long_press if duration_ms >= LONG_PRESS_MS else tap)(world, x, y)
        return
    windows = world.windows
    if not windows.awake:
        return
    if windows.shade:
        if -down > PULL_PX:
            windows.close_shade()
        return
    if y <= theme.STATUS_BAR * 2 and down > PULL_PX:
        windows.open_shade()
        return
    found = under(world, x, y, lambda node: bool(node.scrolls))
    owner = windows.prompt or windows.front()
    if found is not None and owner is not None:
        node = found[1]
        owner[1].scroll[node.scrolls] = max(0, min(node.reach, node.offset - down))
        windows.moved()


def type_text(world: World, text: str) -> None:
    """Goes to the field that has the keyboard; without one it is lost, as on a real phone."""
    first, *rest = text.split("\n")
    if screen := world.windows.typing():
        screen.fields[screen.focus] = screen.fields.get(screen.focus, "") + first
    for line in rest:
        if screen := world.windows.typing():
            enter(world, screen)
        type_text(world, line)


def enter(world: World, screen: Screen) -> None:
    """The field's own enter: what its app does with it, else the keyboard goes away."""
    for window in reversed(world.windows.layers()):
        for node in window.root.walk():
            if node.field and node.field == screen.focus and node.focused:
                if node.submit is not None:
                    act(world, window, node.submit)
                else:
                    screen.focus = ""
                return


def press_key(world: World, face: str) -> None:
    """A key of the on-screen keyboard."""
    windows, screen = world.windows, world.windows.typing()
    if face == keyboard.SHIFT:
        windows.shifted = not windows.shifted
    elif face == keyboard.SWITCH:
        windows.symbols = not windows.symbols
    elif face == keyboard.BACKSPACE:
        erase(screen)
    else:
        type_text(world, face)
        windows.shifted = False


def erase(screen: Screen | None) -> None:
    if screen is not None:
        screen.fields[screen.focus] = screen.fields.get(screen.focus, "")[:-1]


def key(world: World, code: int) -> None:
    """A hardware key event, by Android's key code."""
    windows = world.windows
    if code in (26, 223, 224):  # power, sleep, wakeup
        windows.awake = {26: not windows.awake, 223: False, 224: True}[code]
        return
    if not windows.awake or not windows.tasks:
        return
    screen = windows.typing()
    if code in (4, 111):  # back, escape
        windows.back()
    elif code == 3:
        windows.home()
    elif code == 187:
        windows.overview()
    elif code == 83:  # notification
        windows.open_shade()
    elif code == 6:  # end call
        world.telephony.hang_up()
    elif code in (66, 160):
        if screen is not None:
            enter(world, screen)
    elif code in (67, 112):
        erase(screen)
    elif code == 278 and screen is not None:
        world.clipboard.text = screen.fields.get(screen.focus, "")
    elif code == 279:
        type_text(world, world.clipboard.text)
    elif code in CHARACTERS:
        type_text(world, CHARACTERS[code])
