"""A script is a list of steps with one verb each; anything else is refused with what to write."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cases.script import VERBS, BadMove, Move, parse_script, parse_step


@pytest.mark.parametrize(
    ("step", "move"),
    [
        ({"open_app": "files"}, Move("open_app", "files")),
        ({"tap": "OK"}, Move("tap", "OK")),
        ({"fill": {"field": "To", "text": ""}}, Move("fill", "", field="To")),
        ({"key": "back"}, Move("key", "back")),
        ({"wait": 2}, Move("wait", seconds=2.0)),
        ({"done": False}, Move("done", success=False)),
    ],
)
def test_a_step_becomes_a_move(step: dict[str, Any], move: Move) -> None:
    assert parse_step(step) == move


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("tap", "a step is one verb"),
        ({}, "a step is one verb"),
        ({"tap": "a", "key": "back"}, "a step is one verb"),
        ({"tab": "a"}, "did you mean 'tap'?"),
        ({"zzzz": "a"}, "write one of open_app"),
        ({"tap": 5}, "in quotes"),
        ({"tap": None}, "not nothing"),
        ({"key": "escape"}, "write one of back"),
        ({"swipe": "sideways"}, "write one of up"),
        ({"wait": "long"}, "wait takes seconds"),
        ({"wait": 0}, "wait takes seconds"),
        ({"wait": True}, "wait takes seconds"),
        ({"wait": 1e9}, "at most 60"),
        ({"done": "yes"}, "done takes true or false"),
        ({"fill": {"field": "To"}}, "fill takes a field and a text"),
        ({"fill": {"field": "To", "text": 5}}, "put numbers in quotes"),
    ],
)
def test_what_is_no_step_says_what_to_write(step: Any, said: str) -> None:
    with pytest.raises(BadMove, match=said.replace("?", r"\?")):
        parse_step(step)


def test_a_script_names_the_step_that_is_none() -> None:
    with pytest.raises(BadMove, match="step 2: "):
        parse_script([{"tap": "a"}, {"tab": "b"}])


def test_every_verb_is_shown_by_an_example() -> None:
    assert all(example.startswith(f"{{{verb}: ") for verb, example in VERBS.items())
