"""An agent's reply becomes one of our actions, or is refused with a reason that it can act on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agent.agent import KINDS, Action
from orchestrator.agent.normalize import BadAction, normalize
from tests.agent.screens import HEIGHT, WIDTH, element, seen

BUTTON = element("OK", (100, 200, 300, 400), clickable=True)
FIELD = element("", (0, 500, 1080, 600), kind="android.widget.EditText", focused=True)
HALF_OFF = element("edge", (1000, 2300, 1400, 2700))
OFF = element("off", (0, 2400, 100, 2500))
LIST = element("", (0, 400, 1080, 1400), scrollable=True)
SCREEN = seen(BUTTON, FIELD, HALF_OFF, OFF, LIST)


@pytest.mark.parametrize(
    ("raw", "action"),
    [
        ({"action": "tap", "element": 0}, Action("tap", 200, 300)),
        ({"action": "tap", "x": 5, "y": 6}, Action("tap", 5, 6)),
        ({"action": "tap", "element": 2}, Action("tap", 1040, 2350)),
        ({"action": "long_press", "element": 0}, Action("long_press", 200, 300)),
        ({"action": "swipe", "start": [1, 2], "end": [3, 4]}, Action("swipe", 1, 2, 3, 4)),
        (
            {"action": "swipe", "start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}},
            Action("swipe", 1, 2, 3, 4),
        ),
        ({"action": "swipe", "direction": "up"}, Action("swipe", 540, 1920, 540, 480)),
        (
            {"action": "swipe", "direction": "up", "element": 4},
            Action("swipe", 540, 1200, 540, 600),
        ),
        ({"action": "swipe", "direction": "left"}, Action("swipe", 864, 1200, 216, 1200)),
        ({"action": "type", "text": "Grüße 🙂\n"}, Action("type", text="Grüße 🙂\n")),
        ({"action": "type", "text": " "}, Action("type", text=" ")),
        ({"action": "key", "key": "back"}, Action("key", text="back")),
        ({"action": "open_app", "app": "messages"}, Action("open_app", text="messages")),
        ({"action": "wait", "seconds": 30}, Action("wait", seconds=30.0)),
        ({"action": "answer", "text": "42"}, Action("answer", text="42")),
        ({"action": "answer", "text": ""}, Action("answer", text="")),
        ({"action": "ask_user", "text": "Which?"}, Action("ask_user", text="Which?")),
        ({"action": "confirm", "text": "Send?"}, Action("confirm", text="Send?")),
        ({"action": "refuse", "text": "No"}, Action("refuse", text="No")),
        ({"action": "done"}, Action("done")),
        ({"action": "done", "success": False}, Action("done", success=False)),
    ],
)
def test_an_action_in_our_own_words_needs_no_warning(raw: Any, action: Action) -> None:
    normalized = normalize(raw, SCREEN)
    assert (normalized.action, normalized.warnings) == (action, ())


@pytest.mark.parametrize(
    ("raw", "action"),
    [
        ({"action_type": "click", "index": 0}, Action("tap", 200, 300)),
        ({"action_type": "click", "x": 5.0, "y": "6"}, Action("tap", 5, 6)),
        ({"action_type": "long_press", "index": 0}, Action("long_press", 200, 300)),
        ({"action_type": "input_text", "text": "a", "index": 1}, Action("type", text="a")),
        ({"action_type": "keyboard_enter"}, Action("key", text="enter")),
        ({"action_type": "navigate_home"}, Action("key", text="home")),
        ({"action_type": "navigate_back"}, Action("key", text="back")),
        ({"action_type": "open_app", "app_name": "Clock"}, Action("open_app", text="Clock")),
        ({"action_type": "wait"}, Action("wait", seconds=1.0)),
        ({"action_type": "answer", "text": 42}, Action("answer", text="42")),
        ({"action_type": "status", "goal_status": "complete"}, Action("done")),
        ({"action_type": "status", "goal_status": "infeasible"}, Action("done", success=False)),
    ],
)
def test_androidworlds_names_are_understood_and_said_so(raw: Any, action: Action) -> None:
    normalized = normalize(raw, SCREEN)
    assert normalized.action == action
    assert normalized.warnings


def test_who_scrolls_down_wants_what_is_below() -> None:
    """AndroidWorld's scroll names the content's way, its swipe the finger's."""
    scroll = normalize({"action_type": "scroll", "direction": "down"}, SCREEN).action
    assert scroll == normalize({"action": "swipe", "direction": "up"}, SCREEN).action


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (None, "an action is an object"),
        ([1], "not a list"),
        ("tap", "not 'tap'"),
        ({}, "there is no action nothing"),
        ({"action": ["tap"]}, "there is no action a list"),
        ({"action": "fly"}, "there is no action 'fly'; use one of tap"),
        ({"action": "double_tap", "element": 0}, "there is no action 'double_tap'"),
        ({"action": "tap"}, 'tap needs "element"'),
        ({"action": "tap", "x": 1}, 'tap needs "element"'),
        ({"action": "tap", "element": 5}, "there is no element 5; there are 5"),
        ({"action": "tap", "element": -1}, "there is no element -1"),
        ({"action": "tap", "element": 3}, "element 3 is not on the screen"),
        ({"action": "tap", "element": True}, "element is a whole number, not true"),
        ({"action": "tap", "element": 1.5}, "element is a whole number, not 1.5"),
        ({"action": "tap", "element": "OK"}, "element is a whole number, not 'OK'"),
        ({"action": "tap", "element": "9" * 5000}, "element is a whole number"),
        ({"action": "tap", "x": WIDTH, "y": 0}, "off the screen, which is 1080x2400"),
        ({"action": "tap", "x": 0, "y": HEIGHT}, "off the screen"),
        ({"action": "tap", "x": -1, "y": 0}, "off the screen"),
        ({"action": "tap", "x": 1e300, "y": 0}, "off the screen"),
        ({"action": "tap", "x": float("nan"), "y": 0}, "a whole number"),
        ({"action": "swipe"}, '"direction" of up'),
        ({"action": "swipe", "direction": "north"}, '"direction" of up'),
        ({"action": "swipe", "start": [1, 2]}, "end is a position"),
        ({"action": "swipe", "start": [1, 2], "end": [0, 9999]}, "off the screen"),
        ({"action": "type"}, '"text" is a text, not nothing'),
        ({"action": "type", "text": ""}, "type needs a text"),
        ({"action": "type", "text": "a", "element": 0}, "tap element 0 first"),
        ({"action": "type", "text": "a" * 10_001}, "10001 characters; at most 10000"),
        ({"action": "type", "text": "\0"}, "an invalid character"),
        ({"action": "type", "text": "\ud83d"}, "an invalid character"),
        ({"action": "key", "key": "power"}, "there is no key 'power'"),
        ({"action": "key", "key": 4}, "there is no key 4"),
        ({"action": "open_app", "app": " "}, 'needs an "app"'),
        ({"action": "wait", "seconds": 31}, "at most 30 seconds"),
        ({"action": "wait", "seconds": 0}, "longer than 0"),
        ({"action": "wait", "seconds": float("nan")}, "longer than 0"),
        ({"action": "wait", "seconds": "1"}, '"seconds" is a number'),
        ({"action": "ask_user", "text": ""}, "ask_user needs a text"),
        ({"action": "done", "success": "yes"}, '"success" is true or false'),
        ({"action_type": "status", "goal_status": "great"}, '"goal_status" is one of'),
    ],
)
def test_what_is_no_action_is_refused_with_the_reason(raw: Any, why: str) -> None:
    with pytest.raises(BadAction, match=re.escape(why)):
        normalize(raw, SCREEN)


def test_without_a_tree_there_is_no_element_to_name() -> None:
    with pytest.raises(BadAction, match="use x and y"):
        normalize({"action": "tap", "element": 0}, seen(tree=False))


def test_what_is_not_used_is_named_and_bounded() -> None:
    [few] = normalize({"action": "done", "thought": "easy", "x": 1}, SCREEN).warnings
    assert few == "ignored: thought, x"
    many = {f"{number:02}" + "k" * 1000: 1 for number in range(50)}
    [warning] = normalize({"action": "done", **many}, SCREEN).warnings
    assert warning.endswith("and 42 more")
    assert len(warning) < 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = (*KINDS, "click", "scroll", "input_text", "status", "keyboard_enter")
KEYS = (
    "element", "index", "x", "y", "start", "end", "direction", "text", "key", "app", "app_name",
    "seconds", "success", "goal_status", "keycode",
)  # fmt: skip
SAID = JSON | st.builds(
    lambda name, rest: {**rest, "action": name},
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5),
)


@given(SAID)
def test_any_json_is_an_action_on_the_screen_or_no_action(raw: Any) -> None:
    try:
        action = normalize(raw, SCREEN).action
    except BadAction as error:
        reason = str(error)
    else:
        reason = "none"
        check(action)
    assert 0 < len(reason) < 500


def check(action: Action) -> None:
    assert action.kind in KINDS
    for x, y in ((action.x, action.y), (action.end_x, action.end_y)):
        assert x is None or 0 <= x < WIDTH
        assert y is None or 0 <= y < HEIGHT
    action.text.encode()
    assert action.as_json()["action"] == action.kind
