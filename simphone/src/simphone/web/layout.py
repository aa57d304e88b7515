"""A document's blocks as nodes: what a page looks like and where it can be touched.

A block's height depends on nothing but the block, so `heights` is worked out once when the page
is read; a look at a long page lays out only what is in view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Protocol

from ..ui import theme
from ..ui.fonts import width, wrap
from ..ui.node import WIDTH, Action, Fill, Icon, Label, Node, Rect, clipped, dp
from ..ui.screen import Screen
from ..ui.widgets import box, line_of
from .controls import key
from .document import Block, Document, Run
from .flow import Flow, Look, placed

BODY = Look(theme.BODY)
CODE = Look(dp(14), leading=1.35)
HEADINGS = {1: dp(26), 2: dp(22), 3: dp(19), 4: dp(17), 5: dp(16), 6: dp(15)}
INDENT = dp(22)
GAP = dp(6)
FIELD_LINE = round(theme.BODY * 1.3)
CUT = "This page is too long to show in full."


class Hand(Protocol):
    """What touching a page does."""

    def follow(self, href: str) -> None: ...

    def press(self, control: int) -> None:
        """A tap on a check box, a list of choices or a button; enter in a field."""


class Nobody:
    """A page that is only looked at."""

    def follow(self, href: str) -> None:
        return None

    def press(self, control: int) -> None:
        return None


class Layout:
    def __init__(
        self, document: Document, state: Mapping[str, str], focus: str, hand: Hand
    ) -> None:
        self._document = document
        self._state = state
        self._focus = focus
        self._hand = hand

    def node(self, block: Block, y: int) -> Node:
        """The block at this height of the screen, over its whole width."""
        match block["kind"]:
            case "row":
                return self._row(block, y)
            case "gap":
                return whole(y, dp(8))
            case "rule":
                middle = y + dp(10)
                line = box(Rect(theme.MARGIN, middle, WIDTH - theme.MARGIN, middle + 3),
                           Fill(theme.LINE))  # fmt: skip
                return whole(y, dp(20), line)
            case "image":
                return self._image(block, y)
            case "field":
                return self._field(block, y)
            case "check":
                return self._check(block, y)
            case "select":
                return self._select(block, y)
            case "button":
                return self._button(block, y)
        return self._text(block, y)

    # Words

    def _links(self, runs: list[Run]) -> dict[int, Action]:
        return {n: partial(self._hand.follow, run[2]) for n, run in enumerate(runs) if run[2]}

    def _text(self, block: Block, y: int) -> Node:
        kind, level, runs = block["kind"], block.get("level", 0), block.get("runs", [])
        look, gap, left = BODY, GAP, theme.MARGIN
        if kind == "heading":
            look, gap = Look(HEADINGS.get(level, dp(16)), "Medium", leading=1.25), dp(10)
        elif kind in ("pre", "line"):
            look, gap = CODE, 0
        elif kind in ("item", "quote"):
            left += INDENT * level
            gap = dp(3) if kind == "item" else GAP
        flow = Flow(runs, WIDTH - theme.MARGIN - left, look)
        nodes = list(placed(flow, left, y + gap, self._links(runs)))
        if mark := block.get("mark"):
            frame = Rect(left - INDENT, y + gap, left - dp(6), y + gap + look.line)
            words = line_of(mark, frame, look.size, theme.TEXT_SOFT, align="right")
            nodes.insert(0, box(frame, words))
        height = flow.height + 2 * gap
        if kind == "quote":
            bar = Rect(left - dp(12), y + gap, left - dp(9), y + height - gap)
            nodes.insert(0, box(bar, Fill(theme.OUTLINE)))
        if kind == "pre":
            nodes.insert(0, box(Rect(dp(8), y, WIDTH - dp(8), y + height), Fill(theme.CONTAINER)))
        return whole(y, height, *nodes)

    def _row(self, block: Block, y: int) -> Node:
        cells = block.get("cells", [])
        header = bool(block.get("header"))
        look = Look(theme.SMALL, "Medium" if header else "")
        wide = (WIDTH - 2 * theme.MARGIN) // max(1, len(cells))
        flows = [Flow(cell, wide - dp(16), look) for cell in cells]
        height = max((flow.height for flow in flows), default=0) + dp(14)
        ground = (Fill(theme.CONTAINER),) if header else ()
        nodes: list[Node] = [box(Rect(theme.MARGIN, y, WIDTH - theme.MARGIN, y + height), *ground)]
        for number, (cell, flow) in enumerate(zip(cells, flows, strict=True)):
            left = theme.MARGIN + number * wide + dp(8)
            nodes += placed(flow, left, y + dp(7), self._links(cell))
        foot = y + height - 3
        nodes.append(
            box(Rect(theme.MARGIN, foot, WIDTH - theme.MARGIN, foot + 3), Fill(theme.LINE))
        )
        return whole(y, height, *nodes)

    # Things

    def _image(self, block: Block, y: int) -> Node:
        wide, high = block.get("size", [0, 0])
        room = WIDTH - 2 * theme.MARGIN
        shown = min(dp(wide), room) if wide else room
        tall = round(dp(high) * (shown / dp(wide) if wide else 1)) if high else dp(140)
        tall = max(dp(24), min(tall, dp(320)))
        shown = max(dp(24), shown)
        label, href = block.get("label", ""), block.get("href", "")
        top = y + GAP
        frame = Rect(theme.MARGIN, top, theme.MARGIN + shown, top + tall)
        lines = wrap(label, theme.TINY, max(1, shown - dp(12)), "Regular", 2) if label else ()
        roomy = shown > dp(90) and tall > dp(80)
        parts = []
        if roomy or not label:
            centre = frame.centre[1] - (dp(12) if lines else 0)
            spot = Rect(frame.left, centre - dp(14), frame.right, centre + dp(14))
            parts.append(box(spot, Icon("image_outline", dp(26), theme.OUTLINE)))
        if lines:
            words = Rect(frame.left, frame.bottom - tall // 2, frame.right, frame.bottom)
            spot = words if roomy else frame
            parts.append(box(spot, Label(lines, theme.TINY, theme.TEXT_SOFT, "Regular", "centre")))
        tap = partial(self._hand.follow, href) if href else None
        node = Node(frame, "android.widget.Image", label, desc=label, tap=tap,
                    paint=(Fill(theme.CONTAINER_HIGH, dp(6)),), children=tuple(parts))  # fmt: skip
        return whole(y, tall + 2 * GAP, node)

    def _field(self, block: Block, y: int) -> Node:
        number = block.get("control", 0)
        control = self._document["controls"][number]
        value = self._state.get(key(number), "")
        secret = control["type"] == "password"
        shown = "•" * len(value) if secret else value
        focused = self._focus == key(number)
        lines = control["lines"]
        top = y + GAP
        frame = Rect(theme.MARGIN, top, WIDTH - theme.MARGIN, top + dp(24) + FIELD_LINE * lines)
        inner = frame.inset(dp(12), dp(12))
        words = shown[-2000:] + ("|" if focused else "")
        body = wrap(words or control["hint"], theme.BODY, inner.width)
        body = body[-lines:] if words else body[:lines]
        place = Rect(inner.left, inner.top, inner.right, inner.top + FIELD_LINE * len(body))
        ink = theme.TEXT if words else theme.HINT
        press = partial(self._hand.press, number) if lines == 1 else None
        node = Node(
            frame,
            "android.widget.EditText",
            shown,
            desc=control["desc"] or control["hint"] or control["name"],
            field=key(number) if control["enabled"] else "",
            submit=press,
            focused=focused,
            enabled=control["enabled"],
            password=secret,
            paint=(Fill(theme.SURFACE, dp(4), theme.PRIMARY if focused else theme.OUTLINE),),
            children=(box(place, Label(body, theme.BODY, ink)),),
        )
        return whole(y, frame.height + 2 * GAP, node)

    def _check(self, block: Block, y: int) -> Node:
        number = block.get("control", 0)
        control = self._document["controls"][number]
        on = bool(self._state.get(key(number)))
        label = block.get("label") or control["desc"]
        round_ = control["type"] == "radio"
        glyph = {
            (False, False): "checkbox_blank_outline", (False, True): "checkbox_marked",
            (True, False): "radiobox_blank", (True, True): "radiobox_marked",
        }[round_, on]  # fmt: skip
        left = theme.MARGIN + dp(36)
        lines = wrap(
            label or control["name"], theme.BODY, WIDTH - theme.MARGIN - left, "Regular", 4
        )
        height = max(dp(44), FIELD_LINE * len(lines) + dp(16))
        spot = Rect(theme.MARGIN, y, theme.MARGIN + dp(24), y + height)
        words = Rect(left, y, WIDTH - theme.MARGIN, y + height)
        node = Node(
            Rect(theme.MARGIN, y, WIDTH - theme.MARGIN, y + height),
            "android.widget.RadioButton" if round_ else "android.widget.CheckBox",
            label or control["name"],
            desc=control["desc"],
            tap=partial(self._hand.press, number),
            enabled=control["enabled"],
            checked=on,
            children=(
                box(spot, Icon(glyph, dp(24), theme.PRIMARY if on else theme.TEXT_SOFT)),
                box(words, Label(lines, theme.BODY, theme.TEXT)),
            ),
        )
        return whole(y, height, node)

    def _select(self, block: Block, y: int) -> Node:
        number = block.get("control", 0)
        control = self._document["controls"][number]
        value = self._state.get(key(number), "")
        words = next((shown for sent, shown in control["options"] if sent == value), value)
        top = y + GAP
        frame = Rect(theme.MARGIN, top, WIDTH - theme.MARGIN, top + dp(48))
        inner = frame.inset(dp(12), 0)
        place = Rect(inner.left, frame.top, inner.right - dp(30), frame.bottom)
        arrow = Rect(inner.right - dp(24), frame.top, inner.right, frame.bottom)
        node = Node(
            frame,
            "android.widget.Spinner",
            words,
            desc=control["desc"] or control["name"],
            tap=partial(self._hand.press, number),
            enabled=control["enabled"],
            paint=(Fill(theme.SURFACE, dp(4), theme.OUTLINE),),
            children=(
                box(place, line_of(words, place, theme.BODY, theme.TEXT)),
                box(arrow, Icon("chevron_down", dp(22), theme.TEXT_SOFT)),
            ),
        )
        return whole(y, frame.height + 2 * GAP, node)

    def _button(self, block: Block, y: int) -> Node:
        number = block.get("control", 0)
        control = self._document["controls"][number]
        label = block.get("label", "")
        room = WIDTH - 2 * theme.MARGIN
        lines = wrap(label, theme.SMALL, room - dp(40), "Medium", 1)
        wide = min(room, max(dp(88), width(lines[0], theme.SMALL, "Medium") + dp(40)))
        top = y + GAP
        frame = Rect(theme.MARGIN, top, theme.MARGIN + wide, top + dp(42))
        main = control["type"] in ("submit", "image") and control["enabled"]
        ground, ink = (
            (theme.PRIMARY, theme.ON_PRIMARY) if main else (theme.CONTAINER_HIGH, theme.TEXT)
        )
        node = Node(
            frame,
            "android.widget.Button",
            label,
            desc=control["desc"],
            tap=partial(self._hand.press, number),
            enabled=control["enabled"],
            paint=(Fill(ground, dp(6)),),
            children=(box(frame, Label(lines, theme.SMALL, ink, "Medium", "centre")),),
        )
        return whole(y, frame.height + 2 * GAP, node)


def whole(y: int, height: int, *nodes: Node) -> Node:
    """A block's own node, over the page's whole width."""
    return Node(Rect(0, y, WIDTH, y + height), "android.view.View", children=nodes)


def heights(document: Document) -> list[int]:
    layout = Layout(document, {}, "", Nobody())
    return [layout.node(block, 0).frame.height for block in document["blocks"]]


def page_area(
    document: Document,
    tall: list[int],
    screen: Screen,
    view: Rect,
    hand: Hand,
    scroll: str = "page",
) -> Node:
    """The part of a page that is in view; the field with the keyboard always is."""
    layout = Layout(document, screen.fields, screen.focus, hand)
    edge = dp(12)
    tops = list(accumulate(tall, initial=edge))
    reach = max(0, tops[-1] + dp(28 if document["cut"] else 0) + edge - view.height)
    offset = min(screen.scroll.get(scroll, 0), reach)
    for number, block in enumerate(document["blocks"]):
        if "control" in block and key(block["control"]) == screen.focus:
            least = tops[number] + tall[number] - view.height
            offset = max(0, min(max(offset, least), tops[number]))
    shown = []
    for number, block in enumerate(document["blocks"]):
        top = view.top - offset + tops[number]
        if top + tall[number] > view.top and top < view.bottom:
            node = clipped(layout.node(block, top), view)
            if node is not None:
                shown.append(node)
    if document["cut"]:
        top = view.top - offset + tops[-1]
        frame = Rect(theme.MARGIN, top, WIDTH - theme.MARGIN, top + dp(28))
        note = Node(frame, "android.widget.TextView", CUT,
                    paint=(line_of(CUT, frame, theme.TINY, theme.TEXT_SOFT),))  # fmt: skip
        shown += [node for node in (clipped(note, view),) if node is not None]
    area = Node(
        view, "android.webkit.WebView", document["title"], scrolls=scroll, reach=reach,
        offset=offset, paint=(Fill(theme.SURFACE),), children=tuple(shown),
    )  # fmt: skip
    return replace(area, visible=view)
