"""A month as a grid of days."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Set
from datetime import date
from functools import partial

from . import theme
from .node import Fill, Label, Node, Rect, dp
from .scaffold import Tool, tool_node
from .widgets import Piece, box, line_of

WEEKDAYS = ("M", "T", "W", "T", "F", "S", "S")
CELL_HEIGHT = dp(46)


def month_title(month: date, turn: Callable[[int], object]) -> Piece:
    """Its name between the ways to the month before and the month after."""

    def place(x: int, y: int, room: int) -> Node:
        frame = Rect(x, y, x + room, y + dp(48))
        words = f"{month:%B} {month.year}"
        middle = frame.centre[1]
        inner = Rect(x + theme.MARGIN, y, x + room - dp(110), frame.bottom)
        name = Node(inner, "android.widget.TextView", words, id="month",
                    paint=(line_of(words, inner, dp(18), theme.TEXT, "Medium"),))  # fmt: skip
        earlier = Tool("chevron_left", "Previous month", partial(turn, -1))
        later = Tool("chevron_right", "Next month", partial(turn, 1))
        return Node(frame, "android.widget.LinearLayout", children=(
            name, tool_node(earlier, x + room - dp(80), middle),
            tool_node(later, x + room - dp(32), middle)))  # fmt: skip

    return place


def day_cell(frame: Rect, day: date, ground: str, ink: str, *, busy: bool) -> tuple[Node, ...]:
    x, y = frame.centre
    half = dp(18)
    disc = Rect(x - half, y - half, x + half, y + half)
    face = Label((str(day.day),), dp(15), ink, "Medium" if ground else "Regular", "centre")
    parts = [box(disc, *((Fill(ground, half),) if ground else ()), face)]
    if busy:
        dot = Rect(x - dp(2), y + dp(11), x + dp(3), y + dp(16))
        parts.append(box(dot, Fill(ink if ground else theme.PRIMARY, dp(3))))
    return tuple(parts)


def month_grid(
    selected: date, today: date, busy: Set[date], choose: Callable[[date], object]
) -> Piece:
    """The selected day's month, Mondays first; a dot stands under a day with something on it."""

    def place(x: int, y: int, room: int) -> Node:
        wide = (room - 2 * theme.MARGIN) // 7
        left_edge = x + theme.MARGIN
        nodes = []
        for column, letter in enumerate(WEEKDAYS):
            head = Rect(left_edge + column * wide, y, left_edge + (column + 1) * wide, y + dp(26))
            nodes.append(box(head, Label((letter,), theme.TINY, theme.TEXT_SOFT, "Medium",
                                         "centre")))  # fmt: skip
        before, length = calendar.monthrange(selected.year, selected.month)
        for number in range(1, length + 1):
            day = selected.replace(day=number)
            line, column = divmod(before + number - 1, 7)
            left, top = left_edge + column * wide, y + dp(26) + line * CELL_HEIGHT
            frame = Rect(left, top, left + wide, top + CELL_HEIGHT)
            ground, ink = "", theme.TEXT
            if day == selected:
                ground, ink = theme.PRIMARY, theme.ON_PRIMARY
            elif day == today:
                ground, ink = theme.PRIMARY_SOFT, theme.ON_PRIMARY_SOFT
            nodes.append(
                Node(frame, "android.view.View", str(number),
                     desc=f"{number} {day:%B} {day.year}", id="day", selected=day == selected,
                     tap=partial(choose, day),
                     children=day_cell(frame, day, ground, ink, busy=day in busy))
            )  # fmt: skip
        lines = (before + length + 6) // 7
        bottom = y + dp(26) + lines * CELL_HEIGHT + dp(8)
        return Node(Rect(x, y, x + room, bottom), "android.widget.GridView", id="month_grid",
                    children=tuple(nodes))  # fmt: skip

    return place
