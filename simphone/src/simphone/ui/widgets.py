"""Building blocks of a screen: each is a piece that knows its place once it is told a width.

A piece is a function (x, y, width) -> Node; its height is that node's. `column` stacks pieces.
Names of classes and ids are those of Android's own widgets, so a dump reads like a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import theme
from .fonts import shorten, width, wrap
from .node import Action, Fill, Icon, Label, Node, Paint, Rect, dp
from .screen import Screen

Piece = Callable[[int, int, int], Node]


def column(pieces: Sequence[Piece], x: int, y: int, room: int) -> tuple[Node, ...]:
    placed = []
    for piece in pieces:
        node = piece(x, y, room)
        placed.append(node)
        y = node.frame.bottom
    return tuple(placed)


def box(frame: Rect, *paint: Paint) -> Node:
    """Decoration: drawn, never tapped."""
    return Node(frame, "", paint=paint)


def line_of(
    text: str, frame: Rect, size: int, colour: str, weight: str = "Regular", align: str = "left"
) -> Label:
    """One line, cut to its frame."""
    return Label((shorten(text, size, frame.width, weight),), size, colour, weight, align)


def text(
    content: str,
    *,
    size: int = theme.BODY,
    colour: str = theme.TEXT,
    weight: str = "Regular",
    align: str = "left",
    id: str = "",
    most: int = 0,
    tap: Action | None = None,
    margin: int = theme.MARGIN,
    gap: int = dp(6),
) -> Piece:
    """A paragraph, wrapped."""

    def place(x: int, y: int, room: int) -> Node:
        lines = wrap(content, size, room - 2 * margin, weight, most)
        height = round(size * 1.3) * len(lines) + 2 * gap
        return Node(
            Rect(x + margin, y, x + room - margin, y + height),
            "android.widget.TextView",
            content,
            id=id,
            tap=tap,
            paint=(Label(lines, size, colour, weight, align),),
        )

    return place


def header(content: str) -> Piece:
    """A section's small title."""
    return text(content, size=theme.SMALL, colour=theme.PRIMARY, weight="Medium", gap=dp(10))


def space(height: int) -> Piece:
    return lambda x, y, room: box(Rect(x, y, x + room, y + height))


def divider() -> Piece:
    return lambda x, y, room: box(Rect(x, y, x + room, y + 3), Fill(theme.LINE))


def switch(on: bool, right: int, middle: int) -> Node:
    frame = Rect(right - dp(52), middle - dp(16), right, middle + dp(16))
    knob = dp(24) if on else dp(16)
    edge = frame.right - dp(16) if on else frame.left + dp(16)
    thumb = Rect(edge - knob // 2, middle - knob // 2, edge + knob // 2, middle + knob // 2)
    track = Fill(theme.PRIMARY if on else theme.CONTAINER_HIGH, dp(16))
    return Node(
        frame,
        "android.widget.Switch",
        "",
        id="android:id/switch_widget",
        checked=on,
        paint=(track,),
        children=(box(thumb, Fill(theme.ON_PRIMARY if on else theme.OUTLINE, knob // 2)),),
    )


def mark(name: str, right: int, middle: int, colour: str) -> Node:
    side = dp(24)
    return box(
        Rect(right - side, middle - side // 2, right, middle + side // 2), Icon(name, side, colour)
    )


def row(
    title: str,
    subtitle: str = "",
    *,
    icon: str = "",
    avatar: str = "",  # colour of a round badge behind the icon, or behind the title's initial
    trailing: str = "",  # small text at the right
    trailing_icon: str = "",
    on: bool | None = None,  # a switch at the right
    checked: bool | None = None,  # a check box at the right
    bold: bool = False,
    selected: bool = False,
    tap: Action | None = None,
    hold: Action | None = None,
    id: str = "",
    desc: str = "",
    most: int = 2,  # lines of the subtitle
) -> Piece:
    """A list row: title over subtitle, something before, something after."""

    def place(x: int, y: int, room: int) -> Node:
        inner_left = x + theme.MARGIN
        inner_right = x + room - theme.MARGIN
        if icon or avatar:
            inner_left += dp(56)
        children: list[Node] = []
        if trailing:
            inner_right -= width(trailing, theme.TINY) + dp(8)
        if on is not None or checked is not None or trailing_icon:
            inner_right -= dp(60) if on is not None else dp(32)
        weight = "Bold" if bold else "Regular"
        lines = (
            wrap(subtitle, theme.SMALL, inner_right - inner_left, "Regular", most)
            if subtitle
            else ()
        )
        title_height = round(theme.BODY * 1.3)
        height = max(theme.ROW, title_height + round(theme.SMALL * 1.3) * len(lines) + dp(20))
        middle = y + height // 2
        top = y + (height - title_height - round(theme.SMALL * 1.3) * len(lines)) // 2
        if icon or avatar:
            side = dp(40)
            badge = Rect(
                x + theme.MARGIN, middle - side // 2, x + theme.MARGIN + side, middle + side // 2
            )
            inside: Paint = (
                Icon(icon, dp(22) if avatar else dp(24), "#FFFFFF" if avatar else theme.TEXT_SOFT)
                if icon
                else Label((title[:1].upper(),), dp(18), "#FFFFFF", "Medium", "centre")
            )
            children.append(box(badge, *((Fill(avatar, side // 2),) if avatar else ()), inside))
        title_frame = Rect(inner_left, top, inner_right, top + title_height)
        children.append(
            Node(
                title_frame,
                "android.widget.TextView",
                title,
                id="android:id/title",
                paint=(line_of(title, title_frame, theme.BODY, theme.TEXT, weight),),
            )
        )
        if lines:
            frame = Rect(
                inner_left,
                top + title_height,
                inner_right,
                top + title_height + round(theme.SMALL * 1.3) * len(lines),
            )
            children.append(
                Node(
                    frame,
                    "android.widget.TextView",
                    subtitle,
                    id="android:id/summary",
                    paint=(Label(lines, theme.SMALL, theme.TEXT_SOFT, weight),),
                )
            )
        right = x + room - theme.MARGIN
        if trailing:
            frame = Rect(right - width(trailing, theme.TINY), top, right, top + title_height)
            children.append(
                Node(
                    frame,
                    "android.widget.TextView",
                    trailing,
                    paint=(line_of(trailing, frame, theme.TINY, theme.TEXT_SOFT, align="right"),),
                )
            )
        if on is not None:
            children.append(switch(on, right, middle))
        if checked is not None:
            glyph = "checkbox_marked" if checked else "checkbox_blank_outline"
            children.append(mark(glyph, right, middle, theme.PRIMARY))
        if trailing_icon:
            children.append(mark(trailing_icon, right, middle, theme.TEXT_SOFT))
        return Node(
            Rect(x, y, x + room, y + height),
            "android.widget.LinearLayout",
            desc=desc,
            id=id,
            tap=tap,
            hold=hold,
            selected=selected,
            checked=checked,
            paint=(Fill(theme.PRIMARY_SOFT),) if selected else (),
            children=tuple(children),
        )

    return place


def field(
    screen: Screen,
    key: str,
    label: str,
    *,
    id: str = "",
    lines: int = 1,
    password: bool = False,
    submit: Action | None = None,
) -> Piece:
    """A text field over `screen.fields[key]`; tapping it brings the keyboard."""

    def place(x: int, y: int, room: int) -> Node:
        value = screen.fields.get(key, "")
        shown = "•" * len(value) if password else value
        focused = screen.focus == key
        frame = Rect(
            x + theme.MARGIN,
            y + dp(6),
            x + room - theme.MARGIN,
            y + dp(6) + dp(36) + round(theme.BODY * 1.3) * lines,
        )
        inner = frame.inset(dp(14), dp(8))
        cursor = "|" if focused else ""
        body = (
            wrap(shown + cursor, theme.BODY, inner.width)[-lines:]
            if shown or focused
            else wrap(label, theme.BODY, inner.width, "Regular", 1)
        )
        caption = Rect(inner.left, frame.top + dp(4), inner.right, frame.top + dp(18))
        content = Rect(
            inner.left,
            frame.top + dp(18),
            inner.right,
            frame.top + dp(18) + round(theme.BODY * 1.3) * len(body),
        )
        colour = theme.PRIMARY if focused else theme.TEXT_SOFT
        decoration = [box(content, Label(body, theme.BODY, theme.TEXT if value else theme.HINT))]
        if shown or focused:
            decoration.append(box(caption, line_of(label, caption, theme.TINY, colour)))
        outer = Rect(x, y, x + room, frame.bottom + dp(6))
        edit = Node(
            frame,
            "android.widget.EditText",
            value if not password else "•" * len(value),
            desc=label,
            id=id or key,
            field=key,
            submit=submit,
            focused=focused,
            password=password,
            paint=(Fill(theme.SURFACE, dp(8), theme.PRIMARY if focused else theme.OUTLINE),),
            children=tuple(decoration),
        )
        return Node(outer, "android.widget.FrameLayout", children=(edit,))

    return place


@dataclass(frozen=True)
class Button:
    """A button's words and deed; `bar` places several."""

    label: str
    tap: Action | None
    id: str = ""
    kind: str = "filled"  # filled | soft | plain
    enabled: bool = True

    def node(self, left: int, top: int, wide: int = 0) -> Node:
        wide = wide or width(self.label, theme.SMALL, "Medium") + dp(40)
        frame = Rect(left, top, left + wide, top + dp(40))
        ground, ink = {
            "filled": (theme.PRIMARY, theme.ON_PRIMARY),
            "soft": (theme.PRIMARY_SOFT, theme.ON_PRIMARY_SOFT),
            "plain": ("", theme.PRIMARY),
        }[self.kind]
        if not self.enabled:
            ground, ink = (theme.CONTAINER_HIGH if ground else ""), theme.HINT
        words = line_of(self.label, frame, theme.SMALL, ink, "Medium", "centre")
        return Node(
            frame,
            "android.widget.Button",
            self.label,
            id=self.id,
            tap=self.tap,
            enabled=self.enabled,
            paint=((Fill(ground, dp(20)),) if ground else ()) + (words,),
        )


def bar(*buttons: Button, align: str = "right", stretch: bool = False) -> Piece:
    """Buttons side by side."""

    def place(x: int, y: int, room: int) -> Node:
        gap, top = dp(8), y + dp(8)
        inner = room - 2 * theme.MARGIN
        wide = (inner - gap * (len(buttons) - 1)) // len(buttons) if stretch else 0
        total = sum(b.node(0, 0, wide).frame.width for b in buttons) + gap * (len(buttons) - 1)
        left = x + theme.MARGIN + (inner - total if align == "right" and not stretch else 0)
        if align == "centre":
            left = x + theme.MARGIN + (inner - total) // 2
        placed = []
        for button in buttons:
            placed.append(button.node(left, top, wide))
            left = placed[-1].frame.right + gap
        return Node(
            Rect(x, y, x + room, top + dp(48)),
            "android.widget.LinearLayout",
            children=tuple(placed),
        )

    return place
