"""Whole screens: a page with a bar and a scrolling list, a dialog over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import theme
from .node import SCREEN, WIDTH, Action, Fill, Icon, Node, Rect, clipped, dp, shifted
from .screen import Screen
from .widgets import Button, Piece, bar, box, column, line_of, space, text


@dataclass(frozen=True)
class Tool:
    """An icon button of the app bar, or the floating one."""

    icon: str
    desc: str
    tap: Action
    id: str = ""


def tool_node(tool: Tool, centre_x: int, centre_y: int) -> Node:
    half = dp(24)
    frame = Rect(centre_x - half, centre_y - half, centre_x + half, centre_y + half)
    return Node(
        frame,
        "android.widget.ImageButton",
        desc=tool.desc,
        id=tool.id,
        tap=tool.tap,
        paint=(Icon(tool.icon, dp(24), theme.TEXT),),
    )


def app_bar(title: str, up: Action | None, tools: Sequence[Tool]) -> Node:
    top = theme.STATUS_BAR
    middle = top + theme.APP_BAR // 2
    frame = Rect(0, 0, WIDTH, top + theme.APP_BAR)
    children = []
    left = theme.MARGIN
    if up is not None:
        children.append(tool_node(Tool("arrow_left", "Navigate up", up), dp(28), middle))
        left = dp(60)
    right = WIDTH - theme.MARGIN // 2
    for tool in reversed(tools):
        children.append(tool_node(tool, right - dp(24), middle))
        right -= dp(48)
    words = Rect(left, top, right - dp(8), frame.bottom)
    children.append(
        Node(
            words,
            "android.widget.TextView",
            title,
            id="title",
            paint=(line_of(title, words, theme.TITLE, theme.TEXT, "Medium"),),
        )
    )
    return Node(
        frame,
        "android.view.ViewGroup",
        id="action_bar",
        paint=(Fill(theme.BACKGROUND),),
        children=tuple(children),
    )


def page(
    screen: Screen,
    title: str,
    pieces: Sequence[Piece],
    *,
    up: Action | None = None,
    tools: Sequence[Tool] = (),
    fab: Tool | None = None,
    footer: Sequence[Piece] = (),  # stays above the keyboard and the navigation bar
    key: str = "list",
    from_end: bool = False,  # a conversation
    background: str = theme.BACKGROUND,
) -> Node:
    """A screen with a bar and a list. `screen.scroll[key]` is pixels from the list's start;
    without it a list `from_end` shows its end."""
    bottom = theme.CONTENT_BOTTOM - (theme.KEYBOARD if screen.focus else 0)
    top = theme.STATUS_BAR + theme.APP_BAR
    foot = column(footer, 0, 0, WIDTH)
    foot_height = foot[-1].frame.bottom if foot else 0
    view = Rect(0, top, WIDTH, bottom - foot_height)
    tail: list[Piece] = [space(dp(88))] if fab else []
    natural = column([*pieces, *tail], 0, 0, WIDTH)
    length = natural[-1].frame.bottom if natural else 0
    reach = max(0, length - view.height)
    offset = min(screen.scroll.get(key, reach if from_end else 0), reach)
    rows = tuple(
        node
        for row in natural
        if row.frame.bottom > offset and row.frame.top < offset + view.height
        if (node := clipped(shifted(row, view.top - offset), view)) is not None
    )
    listing = Node(
        view,
        "androidx.recyclerview.widget.RecyclerView",
        id=key,
        scrolls=key,
        reach=reach,
        offset=offset,
        children=rows,
    )
    parts = [listing, app_bar(title, up, tools)]
    if fab is not None:
        half = dp(28)
        x, y = WIDTH - theme.MARGIN - half, view.bottom - theme.MARGIN - half
        parts.append(
            Node(
                Rect(x - half, y - half, x + half, y + half),
                "android.widget.ImageButton",
                desc=fab.desc,
                id=fab.id,
                tap=fab.tap,
                paint=(
                    Fill(theme.PRIMARY_SOFT, dp(16)),
                    Icon(fab.icon, dp(26), theme.ON_PRIMARY_SOFT),
                ),
            )
        )
    if footer:
        frame = Rect(0, view.bottom, WIDTH, bottom)
        parts.append(
            Node(
                frame,
                "android.widget.LinearLayout",
                paint=(Fill(background),),
                children=column(footer, 0, view.bottom, WIDTH),
            )
        )
    whole = Rect(0, 0, WIDTH, theme.CONTENT_BOTTOM)
    return Node(
        whole, "android.widget.FrameLayout", paint=(Fill(background),), children=tuple(parts)
    )


def dialog(
    title: str,
    message: str = "",
    *,
    pieces: Sequence[Piece] = (),
    buttons: Sequence[Button] = (),
    keyboard: bool = False,
) -> Node:
    """A card in the middle of the screen; what is behind it cannot be tapped."""
    margin = dp(28)
    room = WIDTH - 2 * margin
    inside: list[Piece] = [space(dp(16))]
    if title:
        inside.append(text(title, size=dp(20), weight="Medium", id="alertTitle", margin=dp(22)))
    if message:
        inside.append(text(message, colour=theme.TEXT_SOFT, id="android:id/message", margin=dp(22)))
    inside += [*pieces]
    if buttons:
        inside.append(bar(*buttons))
    inside.append(space(dp(8)))
    height = column(inside, 0, 0, room)[-1].frame.bottom
    middle = (theme.STATUS_BAR + theme.CONTENT_BOTTOM - (theme.KEYBOARD if keyboard else 0)) // 2
    top = max(theme.STATUS_BAR, middle - height // 2)
    card = Rect(margin, top, margin + room, top + height)
    scrim = box(Rect(0, 0, WIDTH, SCREEN.bottom), Fill(theme.SCRIM, opacity=120))
    return Node(
        card,
        "android.widget.FrameLayout",
        children=(
            scrim,
            Node(
                card,
                "android.widget.LinearLayout",
                id="parentPanel",
                paint=(Fill(theme.SURFACE, dp(24)),),
                children=column(inside, margin, top, room),
            ),
        ),
    )
