"""The tree that is drawn, dumped and tapped: absolute pixels, and what each place does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

WIDTH, HEIGHT, DENSITY = 1080, 2400, 420

Action = Callable[[], object]  # what it returns is of no interest


def dp(value: float) -> int:
    """Density-independent pixels to this screen's."""
    return round(value * DENSITY / 160)


class Rect(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def centre(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def holds(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def clip(self, other: Rect) -> Rect:
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Rect(
            left,
            top,
            max(left, min(self.right, other.right)),
            max(top, min(self.bottom, other.bottom)),
        )

    def inset(self, x: int, y: int) -> Rect:
        return Rect(self.left + x, self.top + y, self.right - x, self.bottom - y)


SCREEN = Rect(0, 0, WIDTH, HEIGHT)


@dataclass(frozen=True)
class Fill:
    """A filled box, rounded where asked."""

    colour: str
    radius: int = 0
    outline: str = ""
    opacity: int = 255


@dataclass(frozen=True)
class Label:
    """Text drawn in the node's frame, already broken into lines."""

    lines: tuple[str, ...]
    size: int  # px
    colour: str
    weight: str = "Regular"
    align: str = "left"  # left | centre | right
    leading: float = 1.3


@dataclass(frozen=True)
class Icon:
    """A glyph of the icon font, centred."""

    name: str
    size: int  # px
    colour: str


Paint = Fill | Label | Icon


@dataclass(frozen=True)
class Node:
    """One place on the screen. `frame` is its layout, `bounds` the part that can be seen."""

    frame: Rect
    kind: str = "android.view.View"  # an Android class; "" for decoration, which no dump shows
    text: str = ""
    desc: str = ""
    id: str = ""  # the part after package:id/, or a full android:id/...
    paint: tuple[Paint, ...] = ()
    children: tuple[Node, ...] = ()
    tap: Action | None = None
    hold: Action | None = None
    submit: Action | None = None  # the keyboard's enter, on a text field
    field: str = ""  # key of the text field this node is
    scrolls: str = ""  # key of the list this node scrolls
    reach: int = 0  # how far that list can be scrolled, in pixels
    offset: int = 0  # how far it is scrolled
    checked: bool | None = None  # None: not checkable
    focused: bool = False
    selected: bool = False
    enabled: bool = True
    password: bool = False
    visible: Rect | None = None

    @property
    def bounds(self) -> Rect:
        return self.visible or self.frame

    @property
    def clickable(self) -> bool:
        return self.enabled and (self.tap is not None or bool(self.field))

    def walk(self) -> Iterator[Node]:
        """Itself and everything below, in drawing order."""
        yield self
        for child in self.children:
            yield from child.walk()


def clipped(node: Node, view: Rect) -> Node | None:
    """The node as far as it shows in the view; None where nothing of it does."""
    seen = node.bounds.clip(view)
    if seen.width == 0 or seen.height == 0:
        return None
    kept = tuple(child for c in node.children if (child := clipped(c, view)) is not None)
    return replace(node, visible=seen, children=kept)


def shifted(node: Node, down: int) -> Node:
    """The node and all below it, moved down by so many pixels."""
    left, top, right, bottom = node.frame
    return replace(
        node,
        frame=Rect(left, top + down, right, bottom + down),
        children=tuple(shifted(child, down) for child in node.children),
    )


def hit(root: Node, x: int, y: int, wanted: Callable[[Node], bool]) -> Node | None:
    """The topmost node at this point that is wanted."""
    found = None
    for node in root.walk():
        if node.bounds.holds(x, y) and wanted(node):
            found = node
    return found
