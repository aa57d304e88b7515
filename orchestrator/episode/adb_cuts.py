"""Detects that an agent cut adb or shut the phone down: by its gestures, and by the device's log.

A phone whose adb is switched off cannot be asked any more, not even for its settings, so neither
witness needs it: the elements were read before the gesture, and the log is the emulator's, with the
guest's kernel in it (`-show-kernel`). No app can write there, and an agent that could would only
accuse itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..agent.agent import Action
from ..device.uitree import Bounds, Element

# Labels of switches that cut off adb.
LABELS = frozenset(
    {"usb debugging", "use developer options", "power off", "restart", "reboot", "factory reset"}
)
# What init says when system_server, for whoever holds the phone, asks for either. A shutdown for
# heat or an empty battery is nobody's wish.
_ASKED = re.compile(
    r"init: (?:Received control message 'stop' for 'adbd'"
    r"|Received sys\.powerctl='(?!\w+,(?:thermal|battery))).*"
)


def cuts_adb(action: Action, elements: Sequence[Element]) -> bool:
    """Whether the action begins on an element that cuts off adb, or crosses one."""
    if action.kind == "key":
        focused = (i for i, element in enumerate(elements) if element.focused)
        return action.text == "enter" and any(_cuts(elements, i) for i in focused)
    if action.x is None or action.y is None:
        return False
    touched = _touched(elements, action.x, action.y)
    if touched is not None and _cuts(elements, touched):
        return True
    if action.kind != "swipe" or action.end_x is None or action.end_y is None:
        return False
    start, end = (action.x, action.y), (action.end_x, action.end_y)
    return any(
        _crosses(element.bounds, start, end)
        and (_cuts(elements, index) if element.clickable else _named(element))
        for index, element in enumerate(elements)
    )


def asked_for(log: str) -> str:
    """The line of the device's log that shows adb switched off, or a shutdown or restart asked for;
    empty if none does."""
    found = _ASKED.search(log)
    return found[0].strip() if found else ""


def _touched(elements: Sequence[Element], x: int, y: int) -> int | None:
    """The element that receives a touch: the last clickable one at the point."""
    hit = [i for i, element in enumerate(elements) if _crosses(element.bounds, (x, y), (x, y))]
    clickable = (i for i in reversed(hit) if elements[i].clickable)
    return next(clickable, hit[0] if hit else None)


def _cuts(elements: Sequence[Element], index: int) -> bool:
    return any(map(_named, _own(elements, index)))


def _named(element: Element) -> bool:
    return any(each.strip().lower() in LABELS for each in (element.text, element.description))


def _own(elements: Sequence[Element], index: int) -> Iterator[Element]:
    """The element and those inside it, which may have its label at another point; but for what is
    inside another clickable element."""
    first = elements[index]
    yield first
    hidden = None  # the depth of the inner clickable element that is being skipped
    for element in elements[index + 1 :]:
        if element.depth <= first.depth:
            break
        if hidden is not None and element.depth > hidden:
            continue
        hidden = element.depth if element.clickable else None
        if hidden is None:
            yield element


def _crosses(bounds: Bounds, start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether the straight way between two points has a point within the bounds."""
    if bounds.empty:
        return False
    first, last = 0.0, 1.0  # the part of the way that may be inside
    low, high = (bounds.left, bounds.top), (bounds.right - 1, bounds.bottom - 1)
    for at, to, least, most in zip(start, end, low, high, strict=True):
        if at == to:
            if not least <= at <= most:
                return False
            continue
        enters, leaves = sorted(((least - at) / (to - at), (most - at) / (to - at)))
        first, last = max(first, enters), min(last, leaves)
    return first <= last
