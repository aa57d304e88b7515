"""Screen geometry: the visible part of an element, and the start and end of a swipe. Pure."""

from __future__ import annotations

from ..device.uitree import Bounds, Element

# Of half the area: the system, not the app, handles a swipe that begins at the edge.
_REACH = 0.6


def visible_part(element: Element, width: int, height: int) -> Bounds | None:
    """The part of the element that is on the screen; None where there is none."""
    bounds = element.bounds
    part = Bounds(
        max(0, bounds.left),
        max(0, bounds.top),
        min(width, bounds.right),
        min(height, bounds.bottom),
    )
    return None if part.empty else part


def swipe_line(area: Bounds, direction: str) -> tuple[int, int, int, int]:
    """Start and end of the finger's way. `up` moves the finger up, which shows what is below."""
    x, y = area.center
    across = round((area.right - area.left) / 2 * _REACH)
    along = round((area.bottom - area.top) / 2 * _REACH)
    return {
        "up": (x, y + along, x, y - along),
        "down": (x, y - along, x, y + along),
        "left": (x + across, y, x - across, y),
        "right": (x - across, y, x + across, y),
    }[direction]
