"""Pieces of a conversation: a message with its links, and the line it is written on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from . import theme
from .fonts import width, wrap
from .node import Action, Fill, Icon, Label, Node, Rect, dp
from .screen import Screen
from .widgets import Piece, box, field, line_of

LINK = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
LINE = round(theme.BODY * 1.3)
MOST_LINES = 4  # of a message being written, before it scrolls


def links(content: str) -> list[tuple[int, int]]:
    """Where the web addresses stand; a full stop after one is not part of it."""
    return [
        (found.start(), found.start() + len(found.group().rstrip(".,;:!?)'")))
        for found in LINK.finditer(content)
    ]


def link_nodes(
    content: str, lines: tuple[str, ...], frame: Rect, ink: str, follow: Callable[[str], object]
) -> list[Node]:
    """The parts of the wrapped lines that can be tapped to follow a link."""
    nodes = []
    spans = links(content)
    begin = 0
    for number, line in enumerate(lines):
        begin = max(begin, content.find(line, begin))
        for start, end in spans:
            first, last = max(start, begin) - begin, min(end, begin + len(line)) - begin
            if first >= last:
                continue
            left = frame.left + width(line[:first], theme.BODY)
            top = frame.top + number * LINE
            right = frame.left + width(line[:last], theme.BODY)
            place = Rect(left, top, right, top + LINE)
            address = content[start:end]
            underline = Rect(left, top + LINE - dp(3), right, top + LINE - dp(2))
            nodes.append(
                Node(place, "android.view.View", address, id="message_link",
                     tap=partial(follow, address), children=(box(underline, Fill(ink)),))
            )  # fmt: skip
        begin += len(line)
    return nodes


def bubble(
    content: str,
    *,
    mine: bool,
    foot: str,
    wrong: bool = False,  # it could not be sent
    tap: Action | None = None,
    hold: Action | None = None,
    follow: Callable[[str], object] | None = None,
) -> Piece:
    """A message of a conversation."""

    def place(x: int, y: int, room: int) -> Node:
        shown = content.replace("\t", "    ")
        lines = wrap(shown, theme.BODY, round(room * 0.72) - dp(28))
        wide = max(width(line, theme.BODY) for line in lines) + dp(28)
        left = x + room - theme.MARGIN - wide if mine else x + theme.MARGIN
        frame = Rect(left, y + dp(4), left + wide, y + dp(4) + LINE * len(lines) + dp(18))
        ground, ink = (
            (theme.PRIMARY, theme.ON_PRIMARY) if mine else (theme.CONTAINER_HIGH, theme.TEXT)
        )
        inner = frame.inset(dp(14), dp(9))
        parts = [box(inner, Label(lines, theme.BODY, ink))]
        if follow is not None:
            parts += link_nodes(shown, lines, inner, ink, follow)
        body = Node(frame, "android.widget.TextView", content, id="message_text", tap=tap,
                    hold=hold, paint=(Fill(ground, dp(18)),), children=tuple(parts))  # fmt: skip
        note = Rect(x + theme.MARGIN, frame.bottom, x + room - theme.MARGIN, frame.bottom + dp(18))
        status = Node(note, "android.widget.TextView", foot, id="message_status",
                      paint=(line_of(foot, note, theme.TINY,
                                     theme.DANGER if wrong else theme.TEXT_SOFT,
                                     align="right" if mine else "left"),))  # fmt: skip
        return Node(Rect(x, y, x + room, note.bottom + dp(4)), "android.widget.LinearLayout",
                    children=(body, status))  # fmt: skip

    return place


def composer(screen: Screen, key: str, label: str, send: Action) -> Piece:
    """Where a message is written, with the button that sends it."""

    def place(x: int, y: int, room: int) -> Node:
        beside = dp(56)
        value = screen.fields.get(key, "")
        inside = room - beside - 2 * theme.MARGIN - 2 * dp(14)
        lines = min(MOST_LINES, len(wrap(value, theme.BODY, inside)))
        line = field(screen, key, label, id="compose_message_text", lines=lines, submit=send)
        written = line(x, y, room - beside)
        half = dp(24)
        middle_x = x + room - theme.MARGIN - half
        middle_y = written.frame.bottom - dp(6) - dp(28)
        round_ = Rect(middle_x - half, middle_y - half, middle_x + half, middle_y + half)
        ready = bool(value.strip())
        ground, ink = (
            (theme.PRIMARY, theme.ON_PRIMARY) if ready else (theme.CONTAINER_HIGH, theme.HINT)
        )
        button = Node(round_, "android.widget.ImageButton", desc="Send", id="send_message_button",
                      tap=send, enabled=ready,
                      paint=(Fill(ground, half), Icon("send", dp(22), ink)))  # fmt: skip
        return Node(Rect(x, y, x + room, written.frame.bottom + dp(4)),
                    "android.widget.LinearLayout", children=(written, button))  # fmt: skip

    return place
