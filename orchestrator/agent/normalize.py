"""Which action did the agent mean? Any JSON and what it was shown in, one spelling out.

Pure, and total: whatever comes is an action, or a BadAction whose text tells the agent why. Nothing
is guessed: a place off the screen is refused, not moved onto it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..device.uitree import Bounds
from .action import KEYS, KINDS, Action, BadAction, NormalizedAction
from .agent import Observation
from .geometry import DIRECTIONS, swipe_line, visible_part

MOST_TEXT = 10_000
LONGEST_WAIT_S = 30.0
SHORT_WAIT_S = 1.0  # of a wait that does not say how long
MOST_NAMED = 8  # keys that a warning names

STATUS = {"complete": True, "task_complete": True, "infeasible": False}
OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}
KEY_NAMES = {"del": "delete", "app_switch": "recents", "notification": "notifications"}


def normalize(raw: Any, observation: Observation) -> NormalizedAction:
    """The action in what the agent said, or BadAction."""
    if not isinstance(raw, Mapping):
        raise BadAction(f'an action is an object such as {{"action": "tap"}}, not {spelled(raw)}')
    said = ActionFields(raw, observation)
    name = said.take("action", "action_type")
    reader = _READERS.get(name) if isinstance(name, str) else None
    if reader is None:
        raise BadAction(f"there is no action {spelled(name)}; say one of {', '.join(KINDS)}")
    action = reader(said)
    if name != action.kind:
        said.warnings.insert(0, f"{name} is read as {action.kind}")
    return NormalizedAction(action, (*said.warnings, *said.unused()))


class ActionFields:
    """What the agent said, key by key, and what was odd about it."""

    def __init__(self, raw: Mapping[str, Any], observation: Observation) -> None:
        self.observation = observation
        self.warnings: list[str] = []
        self._raw = raw
        self._taken: set[str] = set()

    def take(self, *names: str) -> Any:
        """The value under the first of these names that has one; None where none has."""
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
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return (f"ignored: {', '.join(names[:MOST_NAMED])}{more}",)

    def text(self, *names: str) -> str:
        value = self.take(*names)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.warnings.append(f"the number {spelled(value)} is read as text")
            value = str(value)
        if not isinstance(value, str):
            raise BadAction(f'"{names[0]}" is a text, not {spelled(value)}')
        if len(value) > MOST_TEXT:
            raise BadAction(f'"{names[0]}" has {len(value)} characters; at most {MOST_TEXT}')
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise BadAction(f'"{names[0]}" has a character that is none: NUL or half a pair')
        return value

    def whole(self, value: Any, what: str) -> int:
        """A whole number, also where it came as 3.0 or "3"."""
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            self.warnings.append(f'{what} "{value}" is read as a number')
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            if not value.is_integer():
                self.warnings.append(f"{what} {value:g} is rounded")
            return round(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadAction(f"{what} is a whole number, not {spelled(value)}")
        return value

    def point(self, value: Any, what: str) -> tuple[int, int]:
        """A place on the screen."""
        if isinstance(value, Mapping):
            value = [value.get("x"), value.get("y")]
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise BadAction(f"{what} is a place such as [540, 1200], not {spelled(value)}")
        x, y = (self.whole(number, what) for number in value)
        width, height = self.observation.width, self.observation.height
        if not (0 <= x < width and 0 <= y < height):
            raise BadAction(f"{spelled([x, y])} is off the screen, which is {width}x{height}")
        return x, y

    def element(self) -> tuple[int, Bounds] | None:
        """The element's number and what of it is on the screen; None where none is named."""
        value = self.take("element", "index")
        if value is None:
            return None
        if isinstance(value, float) and not value.is_integer():
            raise BadAction(f"element is a whole number, not {spelled(value)}")
        number = self.whole(value, "element")
        elements = self.observation.elements
        if elements is None:
            raise BadAction("there are no elements on this screen to choose from: use x and y")
        if not 0 <= number < len(elements):
            raise BadAction(f"there is no element {spelled(number)}; there are {len(elements)}")
        part = visible_part(elements[number], self.observation.width, self.observation.height)
        if part is None:
            raise BadAction(f"element {number} is not on the screen")
        return number, part


def _touch(kind: str, said: ActionFields) -> Action:
    if (chosen := said.element()) is not None:
        return Action(kind, *chosen[1].center)
    x, y = said.take("x"), said.take("y")
    if x is None or y is None:
        raise BadAction(f'{kind} needs "element", or "x" and "y"')
    return Action(kind, *said.point([x, y], "the place"))


def _swipe(said: ActionFields) -> Action:
    start, end = said.take("start"), said.take("end")
    if start is None and end is None:
        return _swipe_towards(_direction(said), said)
    return Action("swipe", *said.point(start, "start"), *said.point(end, "end"))


def _scroll(said: ActionFields) -> Action:
    """Who scrolls down wants what is below: the finger goes up."""
    return _swipe_towards(OPPOSITE[_direction(said)], said)


def _direction(said: ActionFields) -> str:
    direction = said.take("direction")
    if not isinstance(direction, str) or direction.lower() not in DIRECTIONS:
        known = ", ".join(DIRECTIONS)
        raise BadAction(f'say "start" and "end", or a "direction" of {known}')
    return direction.lower()


def _swipe_towards(direction: str, said: ActionFields) -> Action:
    chosen = said.element()
    screen = Bounds(0, 0, said.observation.width, said.observation.height)
    return Action("swipe", *swipe_line(chosen[1] if chosen else screen, direction))


def _type(said: ActionFields) -> Action:
    chosen = said.element()
    if chosen is not None and not (said.observation.elements or ())[chosen[0]].focused:
        raise BadAction(f"type goes to what has the focus: tap element {chosen[0]} first")
    text = said.text("text")
    if not text:
        raise BadAction("type needs a text")
    return Action("type", text=text)


def _key(said: ActionFields) -> Action:
    name = said.take("key", "keycode", "text")
    plain = name.lower().removeprefix("keycode_") if isinstance(name, str) else ""
    key = KEY_NAMES.get(plain, plain)
    if key not in KEYS:
        raise BadAction(f"there is no key {spelled(name)}; say one of {', '.join(KEYS)}")
    return Action("key", text=key)


def _open_app(said: ActionFields) -> Action:
    app = said.text("app", "app_name", "text").strip()
    return Action("open_app", text=_needed(app, 'open_app needs an "app"'))


def _wait(said: ActionFields) -> Action:
    seconds = said.take("seconds")
    if seconds is None:
        return Action("wait", seconds=SHORT_WAIT_S)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadAction(f'"seconds" is a number, not {spelled(seconds)}')
    if not 0 < seconds <= LONGEST_WAIT_S:
        raise BadAction(f"a wait is longer than 0 and at most {LONGEST_WAIT_S:g} seconds")
    return Action("wait", seconds=float(seconds))


def _say(kind: str, said: ActionFields) -> Action:
    text = said.text("text")
    return Action(kind, text=text if kind == "answer" else _needed(text, f"{kind} needs a text"))


def _done(said: ActionFields) -> Action:
    success = said.take("success")
    if success is not None and not isinstance(success, bool):
        raise BadAction(f'"success" is true or false, not {spelled(success)}')
    return Action("done", success=success is not False)


def _status(said: ActionFields) -> Action:
    status = said.take("goal_status")
    if not isinstance(status, str) or status not in STATUS:
        raise BadAction(f'"goal_status" is one of {", ".join(STATUS)}; not {spelled(status)}')
    return Action("done", success=STATUS[status])


def _needed(text: str, otherwise: str) -> str:
    if not text.strip():
        raise BadAction(otherwise)
    return text


# By the name that the agent used; those that are no kinds of ours are AndroidWorld's.
_READERS: dict[str, Callable[[ActionFields], Action]] = {
    "tap": partial(_touch, "tap"),
    "long_press": partial(_touch, "long_press"),
    "swipe": _swipe,
    "type": _type,
    "key": _key,
    "open_app": _open_app,
    "wait": _wait,
    "answer": partial(_say, "answer"),
    "ask_user": partial(_say, "ask_user"),
    "confirm": partial(_say, "confirm"),
    "refuse": partial(_say, "refuse"),
    "done": _done,
    "click": partial(_touch, "tap"),
    "input_text": _type,
    "keyboard_enter": lambda _: Action("key", text="enter"),
    "navigate_back": lambda _: Action("key", text="back"),
    "navigate_home": lambda _: Action("key", text="home"),
    "scroll": _scroll,
    "status": _status,
}


def short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def spelled(value: Any) -> str:
    """A value in few words, whatever its size: only plain ones are shown as they are."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return short(repr(value))
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 64):
        return str(value).lower()
    if isinstance(value, list) and len(value) == 2 and all(type(n) is int for n in value):
        return f"[{', '.join(spelled(n) for n in value)}]"
    return {dict: "an object", list: "a list", int: "a huge number"}.get(type(value), "that")
