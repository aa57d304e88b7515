"""The control agents reference, near_miss, gullible and idle, which play a case's scripts.

They get what any agent gets, name elements by index and spend a step for every look. For an element
that is not on the screen they wait, then scroll, then give up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..cases.script import Move
from ..device.uitree import Element
from .agent import AgentInfo, AgentReply, Observation
from .normalize import LONGEST_WAIT_S

RawAction = dict[str, Any]
Play = Generator[RawAction, Observation, Observation]  # yields actions, receives observations

LOOK_S = 0.3
FIRST_LOOKS = 2  # before scrolling, because the screen may still be loading
LOOKS = 40
SWIPES = 12  # in each direction


class ScriptedAgent:
    """Plays the moves, one action per observation, then says that it is done."""

    def __init__(self, name: str, moves: Sequence[Move]) -> None:
        self.info = AgentInfo(name)
        self._moves = tuple(moves)
        self._play: Play | None = None

    def start(self, goal: str, seconds: float) -> None:
        self._play = None

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        try:
            if self._play is None:
                self._play = play(self._moves, observation)
                return AgentReply(next(self._play))
            return AgentReply(self._play.send(observation))
        except StopIteration:
            return AgentReply(_done())

    def close(self) -> None:
        """Nothing was started."""


class _GivenUp(Exception):
    """What the script needs never appeared; the text says what."""


def play(moves: Sequence[Move], seen: Observation) -> Play:
    try:
        for move in moves:
            if move.verb == "done":
                return (yield _done(success=move.success))
            seen = yield from _MOVES.get(move.verb, _plain)(move, seen)
    except _GivenUp as reason:
        return (yield {**_done(success=False), "why": str(reason)})
    return (yield _done())


def _done(*, success: bool = True) -> RawAction:
    return {"action": "done", "success": success}


def _touch(move: Move, seen: Observation) -> Play:
    index, _ = yield from _find(move.text, seen)
    return (yield {"action": move.verb, "element": index})


def _fill(move: Move, seen: Observation) -> Play:
    """Taps the field, clears it and types."""
    index, seen = yield from _find(move.field, seen)
    seen = yield {"action": "tap", "element": index}
    for _ in range(FIRST_LOOKS):
        if _focused(seen) is not None:
            break
        seen = yield _look()
    field = _focused(seen)
    for _ in field.text if field is not None else "":
        seen = yield {"action": "key", "key": "delete"}
    if move.text:
        seen = yield {"action": "type", "text": move.text}
    return seen


def _wait(move: Move, seen: Observation) -> Play:
    left = move.seconds
    while left > 0:
        seen = yield {"action": "wait", "seconds": min(left, LONGEST_WAIT_S)}
        left -= LONGEST_WAIT_S
    return seen


def _wait_for(move: Move, seen: Observation) -> Play:
    seen = yield from _watch(move.text, seen, LOOKS)
    if _index(move.text, seen) is None:
        raise _GivenUp(f"{move.text!r} did not appear")
    return seen


def _plain(move: Move, seen: Observation) -> Play:
    """Verbs that are actions already."""
    argument = {"open_app": "app", "key": "key", "swipe": "direction"}.get(move.verb, "text")
    return (yield {"action": move.verb, argument: move.text})


_MOVES: dict[str, Callable[[Move, Observation], Play]] = {
    "tap": _touch,
    "long_press": _touch,
    "fill": _fill,
    "wait": _wait,
    "wait_for": _wait_for,
}


def _find(
    words: str, seen: Observation
) -> Generator[RawAction, Observation, tuple[int, Observation]]:
    """The element's index. Waits, scrolls down and up, and waits again, until it is there."""
    seen = yield from _watch(words, seen, FIRST_LOOKS)
    for direction in ("up", "down"):
        seen = yield from _scroll(words, seen, direction)
    seen = yield from _watch(words, seen, LOOKS)
    index = _index(words, seen)
    if index is None:
        raise _GivenUp(f"{words!r} is not on the screen")
    return index, seen


def _watch(words: str, seen: Observation, looks: int) -> Play:
    for _ in range(looks):
        if _index(words, seen) is not None:
            break
        seen = yield _look()
    return seen


def _scroll(words: str, seen: Observation, direction: str) -> Play:
    """Until the element is there or the list ends. The finger moves in this direction."""
    for _ in range(SWIPES):
        index = _scrollable(seen)
        if index is None or _index(words, seen) is not None:
            break
        before = seen.elements
        seen = yield {"action": "swipe", "direction": direction, "element": index}
        if seen.elements == before:
            break
    return seen


def _look() -> RawAction:
    return {"action": "wait", "seconds": LOOK_S}


def _index(words: str, seen: Observation) -> int | None:
    """The visible, enabled element with exactly this text: first a field, then a button."""
    found = [
        (_rank(element), index)
        for index, element in enumerate(seen.elements or ())
        if words in (element.text, element.description)
        and element.enabled
        and seen.visible_part(element) is not None
    ]
    return min(found)[1] if found else None


def _rank(element: Element) -> int:
    return 0 if element.class_name.endswith("EditText") else 1 if element.clickable else 2


def _focused(seen: Observation) -> Element | None:
    return next((element for element in seen.elements or () if element.focused), None)


def _scrollable(seen: Observation) -> int | None:
    """The largest list on the screen."""
    found = [
        (-(part.right - part.left) * (part.bottom - part.top), index)
        for index, element in enumerate(seen.elements or ())
        if element.scrollable and (part := seen.visible_part(element)) is not None
    ]
    return min(found)[1] if found else None
