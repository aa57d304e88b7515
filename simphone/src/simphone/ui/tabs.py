"""Tabs along the bottom of an app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import theme
from .node import Action, Fill, Icon, Node, Rect, dp
from .widgets import Piece, box, line_of


@dataclass(frozen=True)
class Tab:
    label: str
    icon: str
    tap: Action
    selected: bool = False


def tabs(choices: Sequence[Tab]) -> Piece:
    """One is selected; its icon stands on a pill."""

    def place(x: int, y: int, room: int) -> Node:
        wide, height = room // len(choices), dp(72)
        nodes = []
        for number, tab in enumerate(choices):
            left = x + number * wide
            frame = Rect(left, y, left + wide, y + height)
            centre = frame.centre[0]
            pill = Rect(centre - dp(32), y + dp(8), centre + dp(32), y + dp(40))
            words = Rect(left, y + dp(44), left + wide, y + dp(64))
            ink = theme.ON_PRIMARY_SOFT if tab.selected else theme.TEXT_SOFT
            ground = (Fill(theme.PRIMARY_SOFT, dp(16)),) if tab.selected else ()
            weight = "Medium" if tab.selected else "Regular"
            nodes.append(
                Node(frame, "android.widget.TextView", tab.label, desc=tab.label, tap=tab.tap,
                     selected=tab.selected,
                     children=(box(pill, *ground, Icon(tab.icon, dp(23), ink)),
                               box(words, line_of(tab.label, words, theme.TINY, ink, weight,
                                                  "centre"))))
            )  # fmt: skip
        return Node(Rect(x, y, x + room, y + height), "android.widget.LinearLayout",
                    id="bottom_nav_bar", paint=(Fill(theme.CONTAINER),),
                    children=tuple(nodes))  # fmt: skip

    return place
