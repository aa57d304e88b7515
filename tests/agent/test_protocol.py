"""An agent sees a goal and a screen, and nothing from which it could identify the case."""

from __future__ import annotations

import base64
import json

from orchestrator.agent.protocol import observation_json
from tests.agent.screens import PNG, element, seen


def test_an_observation_is_these_fields_and_no_other() -> None:
    view = observation_json(
        seen(element("OK", (1, 2, 3, 4), clickable=True), goal="Press OK", step=7)
    )
    assert set(view) == {"step", "goal", "screen", "screenshot", "elements", "message"}
    assert view["goal"] == "Press OK"
    assert view["screen"] == {"width": 1080, "height": 2400}
    assert base64.b64decode(view["screenshot"]) == PNG
    [shown_element] = view["elements"]
    assert set(shown_element) == {
        "index", "text", "description", "resource_id", "class", "package", "bounds", "clickable",
        "long_clickable", "scrollable", "checkable", "checked", "enabled", "focused", "selected",
        "password",
    }  # fmt: skip
    assert (shown_element["index"], shown_element["bounds"]) == (0, [1, 2, 3, 4])


def test_an_index_is_the_place_in_the_list() -> None:
    view = observation_json(seen(*[element(str(number)) for number in range(5)]))
    assert [e["index"] for e in view["elements"]] == [int(e["text"]) for e in view["elements"]]


def test_a_screen_without_a_tree_has_no_elements_and_is_still_json() -> None:
    view = observation_json(seen(tree=False))
    assert view["elements"] is None
    json.dumps(view, allow_nan=False)
