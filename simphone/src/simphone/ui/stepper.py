"""A text field that can also be stepped by a finger."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .node import Node, Rect, dp
from .scaffold import Tool, tool_node
from .screen import Screen
from .widgets import Piece, field


def stepper(screen: Screen, key: str, label: str, step: Callable[[int], object]) -> Piece:
    """`step` is told -1 or 1 when minus or plus is tapped."""

    def place(x: int, y: int, room: int) -> Node:
        line = field(screen, key, label)(x, y, room - dp(104))
        middle = line.frame.centre[1]
        right = x + room - dp(16)
        less = Tool("minus", f"{label} earlier", partial(step, -1))
        more = Tool("plus", f"{label} later", partial(step, 1))
        return Node(Rect(x, y, x + room, line.frame.bottom), "android.widget.LinearLayout",
                    children=(line, tool_node(less, right - dp(76), middle),
                              tool_node(more, right - dp(24), middle)))  # fmt: skip

    return place
