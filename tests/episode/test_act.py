"""What an agent's action did to the phone, judged by the element that it touched."""

from __future__ import annotations

import pytest

from orchestrator.agent.agent import Action
from orchestrator.device.uitree import Bounds, Element
from orchestrator.episode.act import NOTHING, cuts_adb, input_line


def element(
    depth: int, text: str, box: tuple[int, int, int, int], *, click: bool = False
) -> Element:
    return Element(
        depth, text, "", "", "", "app", Bounds(*box), click, *[False] * 8
    )  # fmt: skip


ROWS = (
    element(0, "", (0, 0, 100, 300), click=True),  # the list
    element(1, "", (0, 0, 100, 50), click=True),
    element(2, "Stay awake", (0, 0, 60, 50)),
    element(2, "", (80, 0, 100, 50)),
    element(1, "", (0, 50, 100, 100), click=True),
    element(2, "USB debugging", (0, 50, 60, 100)),
    element(2, "", (80, 50, 100, 100)),
)


@pytest.mark.parametrize(
    ("x", "y", "cut"), [(10, 60, True), (90, 60, True), (10, 10, False), (10, 200, False)]
)
def test_a_row_is_what_its_words_say_wherever_it_is_tapped(x: int, y: int, cut: bool) -> None:
    assert cuts_adb(Action("tap", x, y), ROWS) is cut


def test_only_a_tap_cuts_anything() -> None:
    assert not cuts_adb(Action("long_press", 10, 60), ROWS)
    assert not cuts_adb(Action("tap", 10, 60), ())


def test_a_step_without_an_action_has_a_line_without_an_input() -> None:
    line = input_line(NOTHING, 3, 17)
    assert (line["step_idx"], line["event_type"], line["payload"]) == (3, "none", {})
