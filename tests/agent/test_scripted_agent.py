"""A script is played with ordinary actions on visible elements, and given up if one is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.agent.agent import Observation
from orchestrator.agent.normalize import normalize
from orchestrator.agent.random_agent import RandomAgent
from orchestrator.agent.scripted_agent import LOOKS, ScriptedAgent
from orchestrator.cases.script import parse_script
from orchestrator.device.uitree import Element
from tests.agent.screens import element, seen

LOOK = {"action": "wait", "seconds": 0.3}
DONE = {"action": "done", "success": True}


def played(
    script: list[dict[str, Any]], phone: Callable[[Any], Observation], most: int = 200
) -> list[Any]:
    """Everything the agent did on a phone that answers each action with a screen."""
    agent, said = ScriptedAgent("reference", parse_script(script)), []
    agent.start("goal", 1)
    screen = phone(None)
    for _ in range(most):
        said.append(agent.act(screen, 1).raw)
        normalize(said[-1], screen)
        if said[-1]["action"] == "done":
            return said
        screen = phone(said[-1])
    raise AssertionError(f"it never ended: {said[-5:]}")


def still(*elements: Element) -> Callable[[Any], Observation]:
    return lambda action: seen(*elements)


def test_each_move_is_one_action_in_the_agents_own_language() -> None:
    ok = element("OK", clickable=True)
    script: list[dict[str, Any]] = [
        {"open_app": "notes"}, {"tap": "OK"}, {"long_press": "OK"}, {"type": "hi"},
        {"key": "back"}, {"swipe": "up"}, {"wait": 40}, {"wait_for": "OK"}, {"answer": "42"},
        {"ask_user": "Which?"}, {"confirm": "Sure?"}, {"refuse": "No"}, {"done": False},
    ]  # fmt: skip
    assert played(script, still(ok)) == [
        {"action": "open_app", "app": "notes"},
        {"action": "tap", "element": 0},
        {"action": "long_press", "element": 0},
        {"action": "type", "text": "hi"},
        {"action": "key", "key": "back"},
        {"action": "swipe", "direction": "up"},
        {"action": "wait", "seconds": 30.0},
        {"action": "wait", "seconds": 10.0},
        {"action": "answer", "text": "42"},
        {"action": "ask_user", "text": "Which?"},
        {"action": "confirm", "text": "Sure?"},
        {"action": "refuse", "text": "No"},
        {"action": "done", "success": False},
    ]


def test_the_end_of_the_script_is_done_and_stays_done() -> None:
    agent = ScriptedAgent("idle", ())
    agent.start("goal", 1)
    assert [agent.act(seen(), 1).raw for _ in range(3)] == [DONE] * 3


def test_what_can_be_tapped_is_meant_before_a_plain_text() -> None:
    title, button = element("Save"), element(description="Save", clickable=True)
    assert played([{"tap": "Save"}], still(title, button))[0] == {"action": "tap", "element": 1}


@pytest.mark.parametrize(
    "hidden",
    [
        element("Save!", clickable=True),
        element("Save", (0, 2400, 10, 2500), clickable=True),
        element("Save", clickable=True, enabled=False),
    ],
)
def test_other_words_off_the_screen_or_disabled_is_not_there(hidden: Element) -> None:
    *waits, last = played([{"tap": "Save"}], still(hidden))
    assert waits == [LOOK] * len(waits)
    assert len(waits) >= LOOKS
    assert last["success"] is False
    assert "'Save' is not on the screen" in last["why"]


def test_a_screen_on_its_way_is_waited_for() -> None:
    screens = iter([seen(tree=False), seen(), seen(element("OK", clickable=True))])
    last = seen(element("OK", clickable=True))
    said = played([{"tap": "OK"}], lambda action: next(screens, last))
    assert said == [LOOK, LOOK, {"action": "tap", "element": 0}, DONE]


class LongList:
    """A list of which three rows are seen at a time."""

    def __init__(self, rows: int, top: int) -> None:
        self.rows, self.top = rows, top

    def __call__(self, action: Any) -> Observation:
        direction = action.get("direction", "") if action else ""
        step = {"up": 2, "down": -2}.get(direction, 0)
        self.top = max(0, min(self.rows - 3, self.top + step))
        rows = [element(f"row {n}", clickable=True) for n in range(self.top, self.top + 3)]
        return seen(element("", (0, 0, 1080, 2000), scrollable=True), *rows)


@pytest.mark.parametrize(("top", "wanted"), [(0, 9), (0, 19), (17, 0), (9, 1)])
def test_what_is_further_down_or_up_in_a_list_is_scrolled_to(top: int, wanted: int) -> None:
    phone = LongList(20, top)
    *_, tap, done = played([{"tap": f"row {wanted}"}], phone)
    assert tap["action"] == "tap"
    assert done == DONE
    assert wanted in range(phone.top, phone.top + 3)


def test_what_is_nowhere_in_a_list_is_given_up_within_bounds() -> None:
    said = played([{"tap": "row 99"}], LongList(1000, 500))
    assert said[-1]["success"] is False
    assert len(said) < 80


def test_a_field_is_tapped_emptied_and_typed_into() -> None:
    content = "abc"

    def phone(action: Any) -> Observation:
        nonlocal content
        if action and action["action"] == "key":
            content = content[:-1]
        kind = "android.widget.EditText"
        label = element("Name")
        return seen(label, element(content, description="Name", kind=kind, focused=bool(action)))

    assert played([{"fill": {"field": "Name", "text": "new"}}], phone) == [
        {"action": "tap", "element": 1},
        *[{"action": "key", "key": "delete"}] * 3,
        {"action": "type", "text": "new"},
        DONE,
    ]


SCREENS = [
    seen(element("a", clickable=True), element("b", (5, 5, 9, 9), clickable=True)),
    seen(tree=False),
    seen(element("c")),
] * 60


def test_random_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    def said(seed: int) -> list[Any]:
        agent = RandomAgent(seed)
        agent.start("goal", 1)
        return [agent.act(screen, 1).raw for screen in SCREENS]

    assert said(7) == said(7)
    assert said(7) != said(8)


def test_random_only_says_actions_and_never_that_it_is_done() -> None:
    agent = RandomAgent(3)
    agent.start("goal", 1)
    kinds = {normalize(agent.act(screen, 1).raw, screen).action.kind for screen in SCREENS}
    assert kinds == {"tap", "long_press", "swipe", "key", "type"}
