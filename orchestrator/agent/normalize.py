"""Normalizes an agent's reply into an action, accepting the common spellings. Pure.

Every JSON value is either an action or a BadAction whose text tells the agent why. Nothing is
guessed: a position off the screen is refused, not moved onto it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..cases.script import DIRECTIONS, KEYS
from ..device.uitree import Bounds
from .agent import KINDS, Action, Observation

MAX_TEXT = 10_000  # characters
LONGEST_WAIT_S = 30.0
DEFAULT_WAIT_S = 1.0
MAX_NAMED = 8  # keys that a warning names
# Of half the area: the system, not the app, handles a swipe that begins at the edge.
REACH = 0.6

STATUS = {"complete": True, "task_complete": True, "infeasible": False}
UNIT = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}  # x, y
OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}
KEY_NAMES = {"del": "delete", "app_switch": "recents", "notification": "notifications"}


@dataclass(frozen=True)
class NormalizedAction:
    """An action, and what was unusual about how the agent wrote it."""

    action: Action
    warnings: tuple[str, ...] = ()


class BadAction(Exception):
    """The agent's reply is not an action; the text tells the agent what is wrong."""


def normalize(raw: Any, observation: Observation) -> NormalizedAction:
    """The action that an agent's reply means. Raises BadAction."""
    if not isinstance(raw, Mapping):
        raise BadAction(f'an action is an object such as {{"action": "tap"}}, not {describe(raw)}')
    fields = ActionFields(raw, observation)
    name = fields.take("action", "action_type")
    reader = _READERS.get(name) if isinstance(name, str) else None
    if reader is None:
        raise BadAction(f"there is no action {describe(name)}; use one of {', '.join(KINDS)}")
    action = reader(fields)
    if name != action.kind:
        fields.warnings.insert(0, f"{name} is read as {action.kind}")
    return NormalizedAction(action, (*fields.warnings, *fields.unused()))


class ActionFields:
    """Reads the fields of an agent's reply, and collects warnings about how they were written."""

    def __init__(self, raw: Mapping[str, Any], observation: Observation) -> None:
        self.observation = observation
        self.warnings: list[str] = []
        self._raw = raw
        self._taken: set[str] = set()

    def take(self, *names: str) -> Any:
        """The value of the first of these names that has one; None where none has."""
        for name in names:
            if self._raw.get(name) is not None:
                self._taken.add(name)
                if name != names[0]:
                    self.warnings.append(f"{name} is read as {names[0]}")
                return self._raw[name]
        return None

    def unused(self) -> tuple[str, ...]:
        names = sorted(short(str(name)) for name in self._raw.keys() - self._taken)
        if not names:
            return ()
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return (f"ignored: {', '.join(names[:MAX_NAMED])}{more}",)

    def text(self, *names: str, needed: str = "") -> str:
        """`needed` is the error for a text of nothing but spaces; without it, one is accepted."""
        value = self.take(*names)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.warnings.append(f"the number {describe(value)} is read as text")
            value = str(value)
        if not isinstance(value, str):
            raise BadAction(f'"{names[0]}" is a text, not {describe(value)}')
        if len(value) > MAX_TEXT:
            raise BadAction(f'"{names[0]}" has {len(value)} characters; at most {MAX_TEXT}')
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise BadAction(f'"{names[0]}" has an invalid character: NUL or half a surrogate pair')
        if needed and not value.strip():
            raise BadAction(needed)
        return value

    def whole(self, value: Any, what: str) -> int:
        """A whole number, also where it is written as 3.0 or "3"."""
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            self.warnings.append(f'{what} "{value}" is read as a number')
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            if not value.is_integer():
                self.warnings.append(f"{what} {value:g} is rounded")
            return round(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadAction(f"{what} is a whole number, not {describe(value)}")
        return value

    def point(self, value: Any, what: str) -> tuple[int, int]:
        """A position on the screen."""
        if isinstance(value, Mapping):
            value = [value.get("x"), value.get("y")]
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise BadAction(f"{what} is a position such as [540, 1200], not {describe(value)}")
        x, y = (self.whole(number, what) for number in value)
        width, height = self.observation.width, self.observation.height
        if not (0 <= x < width and 0 <= y < height):
            raise BadAction(f"{describe([x, y])} is off the screen, which is {width}x{height}")
        return x, y

    def element(self) -> tuple[int, Bounds] | None:
        """The element's index and its visible part; None where the reply names none."""
        value = self.take("element", "index")
        if value is None:
            return None
        if isinstance(value, float) and not value.is_integer():
            raise BadAction(f"element is a whole number, not {describe(value)}")
        number = self.whole(value, "element")
        elements = self.observation.elements
        if elements is None:
            raise BadAction("there are no elements on this screen to choose from: use x and y")
        if not 0 <= number < len(elements):
            raise BadAction(f"there is no element {describe(number)}; there are {len(elements)}")
        part = self.observation.visible_part(elements[number])
        if part is None:
            raise BadAction(f"element {number} is not on the screen")
        return number, part


def _touch(kind: str, fields: ActionFields) -> Action:
    if (chosen := fields.element()) is not None:
        return Action(kind, *chosen[1].center)
    x, y = fields.take("x"), fields.take("y")
    if x is None or y is None:
        raise BadAction(f'{kind} needs "element", or "x" and "y"')
    return Action(kind, *fields.point([x, y], "the position"))


def _swipe(fields: ActionFields) -> Action:
    start, end = fields.take("start"), fields.take("end")
    if start is None and end is None:
        return _swipe_towards(_direction(fields), fields)
    return Action("swipe", *fields.point(start, "start"), *fields.point(end, "end"))


def _scroll(fields: ActionFields) -> Action:
    """Scrolling down shows what is below, so the finger moves up."""
    return _swipe_towards(OPPOSITE[_direction(fields)], fields)


def _direction(fields: ActionFields) -> str:
    direction = fields.take("direction")
    if not isinstance(direction, str) or direction.lower() not in DIRECTIONS:
        known = ", ".join(DIRECTIONS)
        raise BadAction(f'give "start" and "end", or a "direction" of {known}')
    return direction.lower()


def _swipe_towards(direction: str, fields: ActionFields) -> Action:
    """`up` moves the finger up, which shows what is below."""
    chosen = fields.element()
    screen = Bounds(0, 0, fields.observation.width, fields.observation.height)
    area = chosen[1] if chosen else screen
    x, y = area.center
    across = round((area.right - area.left) / 2 * REACH) * UNIT[direction][0]
    along = round((area.bottom - area.top) / 2 * REACH) * UNIT[direction][1]
    return Action("swipe", x - across, y - along, x + across, y + along)


def _type(fields: ActionFields) -> Action:
    chosen = fields.element()
    if chosen is not None and not (fields.observation.elements or ())[chosen[0]].focused:
        raise BadAction(f"type goes to what has the focus: tap element {chosen[0]} first")
    text = fields.text("text")
    if not text:
        raise BadAction("type needs a text")
    return Action("type", text=text)


def _key(fields: ActionFields) -> Action:
    name = fields.take("key", "keycode", "text")
    plain = name.lower().removeprefix("keycode_") if isinstance(name, str) else ""
    key = KEY_NAMES.get(plain, plain)
    if key not in KEYS:
        raise BadAction(f"there is no key {describe(name)}; use one of {', '.join(KEYS)}")
    return Action("key", text=key)


def _open_app(fields: ActionFields) -> Action:
    app = fields.text("app", "app_name", "text", needed='open_app needs an "app"')
    return Action("open_app", text=app.strip())


def _wait(fields: ActionFields) -> Action:
    seconds = fields.take("seconds")
    if seconds is None:
        return Action("wait", seconds=DEFAULT_WAIT_S)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadAction(f'"seconds" is a number, not {describe(seconds)}')
    if not 0 < seconds <= LONGEST_WAIT_S:
        raise BadAction(f"a wait is longer than 0 and at most {LONGEST_WAIT_S:g} seconds")
    return Action("wait", seconds=float(seconds))


def _send_text(kind: str, fields: ActionFields) -> Action:
    """Only an answer may be empty."""
    needed = "" if kind == "answer" else f"{kind} needs a text"
    return Action(kind, text=fields.text("text", needed=needed))


def _done(fields: ActionFields) -> Action:
    success = fields.take("success")
    if success is not None and not isinstance(success, bool):
        raise BadAction(f'"success" is true or false, not {describe(success)}')
    return Action("done", success=success is not False)


def _status(fields: ActionFields) -> Action:
    status = fields.take("goal_status")
    if not isinstance(status, str) or status not in STATUS:
        raise BadAction(f'"goal_status" is one of {", ".join(STATUS)}; not {describe(status)}')
    return Action("done", success=STATUS[status])


# By the name that the agent used; the names that are not our kinds are AndroidWorld's.
_READERS: dict[str, Callable[[ActionFields], Action]] = {
    **{kind: partial(_touch, kind) for kind in ("tap", "long_press")},
    **{kind: partial(_send_text, kind) for kind in ("answer", "ask_user", "confirm", "refuse")},
    "swipe": _swipe,
    "type": _type,
    "key": _key,
    "open_app": _open_app,
    "wait": _wait,
    "done": _done,
    "click": partial(_touch, "tap"),
    "input_text": _type,
    "keyboard_enter": lambda _: Action("key", text="enter"),
    "navigate_back": lambda _: Action("key", text="back"),
    "navigate_home": lambda _: Action("key", text="home"),
    "scroll": _scroll,
    "status": _status,
}


def short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."


def describe(value: Any) -> str:
    """A short text for any value; only small plain values are shown as they are."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return short(repr(value))
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 64):
        return str(value).lower()
    if isinstance(value, list) and len(value) == 2 and all(type(n) is int for n in value):
        return f"[{', '.join(describe(n) for n in value)}]"
    return {dict: "an object", list: "a list", int: "a huge number"}.get(type(value), "that")
