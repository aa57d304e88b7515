"""The telephone's keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import theme
from .node import Action, Fill, Icon, Label, Node, Rect, dp
from .widgets import Piece, box, line_of

KEYS = (
    ("1", ""), ("2", "ABC"), ("3", "DEF"), ("4", "GHI"), ("5", "JKL"), ("6", "MNO"),
    ("7", "PQRS"), ("8", "TUV"), ("9", "WXYZ"), ("*", ""), ("0", "+"), ("#", ""),
)  # fmt: skip
KEY_HEIGHT = dp(68)


def round_button(
    icon: str, words: str, x: int, y: int, ground: str, tap: Action, *, id: str = ""
) -> Node:
    """A large coloured button around a centre, with its words below."""
    half = dp(34)
    disc = Rect(x - half, y - half, x + half, y + half)
    label = Rect(x - dp(60), disc.bottom + dp(6), x + dp(60), disc.bottom + dp(28))
    return Node(
        Rect(label.left, disc.top, label.right, label.bottom),
        "android.widget.Button",
        words,
        desc=words,
        id=id,
        tap=tap,
        children=(
            box(disc, Fill(ground, half), Icon(icon, dp(30), "#FFFFFF")),
            box(label, line_of(words, label, dp(13), theme.TEXT_SOFT, "Medium", "centre")),
        ),
    )


def dialpad(press: Callable[[str], object]) -> Piece:
    """Twelve keys; holding 0 writes a plus."""

    def place(x: int, y: int, room: int) -> Node:
        cell = (room - 2 * theme.MARGIN) // 3
        keys = []
        for number, (digit, letters) in enumerate(KEYS):
            left, top = x + theme.MARGIN + number % 3 * cell, y + number // 3 * KEY_HEIGHT
            frame = Rect(left + dp(5), top + dp(4), left + cell - dp(5), top + KEY_HEIGHT - dp(4))
            middle = frame.top + frame.height // 2
            face = Rect(frame.left, frame.top, frame.right, middle + dp(8)) if letters else frame
            small = Rect(frame.left, middle + dp(6), frame.right, frame.bottom - dp(4))
            keys.append(
                Node(frame, "android.widget.FrameLayout", digit, desc=digit,
                     id="star" if digit == "*" else "pound" if digit == "#" else f"key_{digit}",
                     tap=partial(press, digit),
                     hold=partial(press, "+") if digit == "0" else None,
                     paint=(Fill(theme.CONTAINER, dp(30)),),
                     children=(
                         box(face, Label((digit,), dp(27), theme.TEXT, "Regular", "centre")),
                         box(small, Label((letters,), dp(11), theme.TEXT_SOFT, "Medium", "centre")),
                     ))
            )  # fmt: skip
        return Node(Rect(x, y, x + room, y + 4 * KEY_HEIGHT), "android.widget.TableLayout",
                    id="dialpad", children=tuple(keys))  # fmt: skip

    return place
