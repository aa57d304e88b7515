"""Parses the scripts of a case (solution, near_miss, bait): one verb per step.

Elements are named by their visible text. The agent room's scripted agents play the parsed moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import did_you_mean

KEYS = ("back", "home", "enter", "delete", "recents", "notifications")
DIRECTIONS = ("up", "down", "left", "right")
MAX_WAIT = 60.0

# Each verb with its argument, as hints show it.
VERBS: dict[str, str] = {
    "open_app": "{open_app: ROLE}",
    "tap": "{tap: WORDS}",
    "long_press": "{long_press: WORDS}",
    "type": "{type: TEXT}",
    "fill": "{fill: {field: WORDS, text: TEXT}}",
    "key": f"{{key: {'|'.join(KEYS)}}}",
    "swipe": f"{{swipe: {'|'.join(DIRECTIONS)}}}",
    "wait": "{wait: SECONDS}",
    "wait_for": "{wait_for: WORDS}",
    "answer": "{answer: TEXT}",
    "ask_user": "{ask_user: TEXT}",
    "confirm": "{confirm: TEXT}",
    "refuse": "{refuse: TEXT}",
    "done": "{done: true}",
}


class BadMove(ValueError):
    """A step that cannot be parsed; the text says what to write instead."""


@dataclass(frozen=True)
class Move:
    """One step of a script."""

    verb: str
    text: str = ""  # an element's text, text to type or send, a role, a key, a direction
    field: str = ""  # of fill: the label of the field that `text` goes into
    seconds: float = 0.0  # of wait
    success: bool = True  # of done: what the agent claims


def parse_step(step: Any) -> Move:
    """The move of one step. Raises BadMove."""
    if not isinstance(step, Mapping) or len(step) != 1:
        raise BadMove(f"a step is one verb; write for example {VERBS['tap']}")
    ((verb, value),) = step.items()
    if verb not in VERBS:
        hint = did_you_mean(str(verb), VERBS, f"write one of {', '.join(VERBS)}")
        raise BadMove(f"{verb!r} is not a verb; {hint}")
    if verb == "fill":
        return _fill(value)
    if verb == "wait":
        return _wait(value)
    if verb == "done":
        if not isinstance(value, bool):
            raise BadMove(f"done takes true or false; write {VERBS['done']}")
        return Move("done", success=value)
    if not isinstance(value, str) or not value:
        kind = "nothing" if value in (None, "") else f"{value!r}"
        raise BadMove(f"{verb} takes text, not {kind}; write {VERBS[verb]}, in quotes if needed")
    allowed = {"key": KEYS, "swipe": DIRECTIONS}.get(verb)
    if allowed and value not in allowed:
        raise BadMove(f"{value!r} is not a {verb}; write one of {', '.join(allowed)}")
    return Move(verb, value)


def parse_script(script: Sequence[Any]) -> tuple[Move, ...]:
    """Every move of a script. Raises BadMove with the number of the first bad step."""
    moves = []
    for number, step in enumerate(script, 1):
        try:
            moves.append(parse_step(step))
        except BadMove as mistake:
            raise BadMove(f"step {number}: {mistake}") from mistake
    return tuple(moves)


def _fill(value: Any) -> Move:
    if not isinstance(value, Mapping) or set(value) != {"field", "text"}:
        raise BadMove(f"fill takes a field and a text; write {VERBS['fill']}")
    field, text = value["field"], value["text"]
    if not isinstance(field, str) or not isinstance(text, str) or not field:
        raise BadMove("fill's field and text are text; put numbers in quotes")
    return Move("fill", text, field=field)


def _wait(value: Any) -> Move:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_WAIT:
        raise BadMove(f"wait takes seconds, more than 0 and at most {MAX_WAIT:g}; not {value!r}")
    return Move("wait", seconds=float(value))
