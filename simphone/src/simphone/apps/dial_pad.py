"""The dial pad's screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.dialpad import dialpad, round_button
from ..ui.node import Label, Node, Rect, dp
from ..ui.scaffold import Tool, page, tool_node
from ..ui.screen import Screen
from ..ui.widgets import Piece, row, space
from .calling import GREEN, new_contact, new_message, place_call
from .people import badge, dialled, directory

if TYPE_CHECKING:
    from ..world import World

LONGEST = 32  # digits


def pad(world: World, screen: Screen) -> Node:
    number = screen.fields.get("number", "")
    known = directory(world)(number) if len(number) > 2 else None

    def press(digit: str) -> None:
        screen.fields["number"] = (number + digit)[:LONGEST]

    def erase(*, all: bool) -> None:
        screen.fields["number"] = "" if all else number[:-1]

    def call() -> None:
        if dialled(number):
            place_call(world, number)

    go = world.windows.launch
    suggestions: list[Piece] = [space(dp(8))]
    if known:
        look = badge(known.name)
        suggestions.append(row(known.name, known.phone, avatar=look["avatar"], icon=look["icon"]))
    elif number:
        suggestions += [
            row("Create new contact", icon="account_plus", tap=partial(go, new_contact(number))),
            row("Send a message", icon="message_outline",
                tap=partial(go, new_message(number))),
        ]  # fmt: skip

    def digits(x: int, y: int, room: int) -> Node:
        frame = Rect(x, y, x + room, y + dp(72))
        words = Rect(x + dp(60), y, x + room - dp(60), frame.bottom)
        shown = Label(
            (number,), dp(34 if len(number) < 14 else 22), theme.TEXT, "Regular", "centre"
        )
        back = tool_node(Tool("backspace_outline", "Backspace", partial(erase, all=False),
                              id="deleteButton"), x + room - dp(40), frame.centre[1])  # fmt: skip
        line = Node(words, "android.widget.EditText", number, desc="Number", id="digits",
                    paint=(shown,))  # fmt: skip
        return Node(frame, "android.widget.LinearLayout",
                    children=(line, back))  # fmt: skip

    def deed(x: int, y: int, room: int) -> Node:
        button = round_button("phone", "Call", x + room // 2, y + dp(46), GREEN, call,
                              id="dialpad_floating_action_button")  # fmt: skip
        return Node(Rect(x, y, x + room, y + dp(116)), "android.widget.FrameLayout",
                     children=(button,))  # fmt: skip

    return page(screen, "Dial pad", suggestions, up=world.windows.finish,
                footer=[digits, dialpad(press), deed])  # fmt: skip
