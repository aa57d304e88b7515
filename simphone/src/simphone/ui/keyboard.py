"""The on-screen keyboard: a window of its own, tapped by place, in no app's dump."""

from __future__ import annotations

from collections.abc import Callable

from . import theme
from .node import HEIGHT, WIDTH, Fill, Icon, Label, Node, Rect, dp
from .widgets import box

LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
SYMBOLS = ("1234567890", "@#$_&-+()/", "*\"':;!?")
TOP = HEIGHT - theme.NAV_BAR - theme.KEYBOARD

# What a key can do besides writing a character.
BACKSPACE, ENTER, SHIFT, SWITCH = "\b", "\n", "shift", "switch"


def key(frame: Rect, face: str, press: Callable[[str], None], deed: str, *, icon: bool) -> Node:
    soft = deed in (BACKSPACE, SHIFT, SWITCH)
    ground = theme.PRIMARY_SOFT if deed == ENTER else theme.CONTAINER_HIGH if soft else "#FFFFFF"
    paint = (
        Icon(face, dp(22), theme.TEXT)
        if icon
        else Label((face,), dp(14) if len(face) > 1 else dp(20), theme.TEXT, "Regular", "centre")
    )
    return Node(
        frame,
        "android.inputmethodservice.Key",
        desc=face,
        tap=lambda: press(deed),
        paint=(Fill(ground, dp(6)), paint),
    )


def keyboard(press: Callable[[str], None], *, symbols: bool, shifted: bool) -> Node:
    """The whole keyboard; `press` is told the character, or which of the other keys."""
    frame = Rect(0, TOP, WIDTH, HEIGHT - theme.NAV_BAR)
    cell, height = WIDTH // 10, (theme.KEYBOARD - dp(20)) // 4

    def cap(left: int, right: int, line: int) -> Rect:
        top = TOP + dp(10) + line * height
        return Rect(left, top, right, top + height).inset(dp(5), dp(5))

    keys = []
    for line, letters in enumerate(SYMBOLS if symbols else LETTERS):
        start = (WIDTH - cell * len(letters)) // 2
        for place, letter in enumerate(letters):
            left = start + place * cell
            face = letter.upper() if shifted and not symbols else letter
            keys.append(key(cap(left, left + cell, line), face, press, face, icon=False))
    side = round(cell * 1.4)
    right = WIDTH - side
    keys += [
        key(cap(0, side, 2), "apple_keyboard_shift", press, SHIFT, icon=True),
        key(cap(right, WIDTH, 2), "backspace_outline", press, BACKSPACE, icon=True),
        key(cap(0, side, 3), "ABC" if symbols else "?123", press, SWITCH, icon=False),
        key(cap(side, side + cell, 3), ",", press, ",", icon=False),
        key(cap(side + cell, right - cell, 3), " ", press, " ", icon=False),
        key(cap(right - cell, right, 3), ".", press, ".", icon=False),
        key(cap(right, WIDTH, 3), "keyboard_return", press, ENTER, icon=True),
    ]
    line_above = box(Rect(0, TOP, WIDTH, TOP + 2), Fill(theme.LINE))
    return Node(
        frame,
        "android.widget.FrameLayout",
        paint=(Fill("#DCDDE5"),),
        children=(line_above, *keys),
    )
