"""A list with its own scrolling inside another screen or a dialog."""

from __future__ import annotations

from collections.abc import Sequence

from .node import Node, Rect, clipped
from .screen import Screen
from .widgets import Piece, column


def viewport(screen: Screen, key: str, pieces: Sequence[Piece], most: int) -> Piece:
    """The pieces, in a window at most this tall; `screen.scroll[key]` is how far it has gone."""

    def place(x: int, y: int, room: int) -> Node:
        natural = column(pieces, x, 0, room)
        length = natural[-1].frame.bottom if natural else 0
        view = Rect(x, y, x + room, y + min(length, most))
        reach = length - view.height
        offset = min(screen.scroll.get(key, 0), reach)
        placed = column(pieces, x, y - offset, room)
        rows = tuple(node for each in placed if (node := clipped(each, view)) is not None)
        return Node(view, "android.widget.ListView", id=key, scrolls=key, reach=reach,
                    offset=offset, children=rows)  # fmt: skip

    return place
