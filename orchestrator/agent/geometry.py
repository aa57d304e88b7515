"""Where on the screen is an element, and where does a swipe over it begin and end? Pure."""

from __future__ import annotations

from ..device.uitree import Bounds, Element

DIRECTIONS = ("up", "down", "left", "right")
# Of a place's half: a swipe that began at the very edge would be the system's, not the app's.
_REACH = 0.6


def visible_part(element: Element, width: int, height: int) -> Bounds | None:
    """What of the element lies on the screen; None where nothing does."""
    bounds = element.bounds
    part = Bounds(
        max(0, bounds.left),
        max(0, bounds.top),
        min(width, bounds.right),
        min(height, bounds.bottom),
    )
    return None if part.empty else part


def swipe_line(place: Bounds, direction: str) -> tuple[int, int, int, int]:
    """From where to where the finger goes; `up` moves it up, so that what is below comes."""
    x, y = place.center
    across = round((place.right - place.left) / 2 * _REACH)
    along = round((place.bottom - place.top) / 2 * _REACH)
    return {
        "up": (x, y + along, x, y - along),
        "down": (x, y - along, x, y + along),
        "left": (x + across, y, x - across, y),
        "right": (x - across, y, x + across, y),
    }[direction]
