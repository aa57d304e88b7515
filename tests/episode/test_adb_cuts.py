"""Which gestures, and which lines of a device's log, show that an agent cut adb or shut down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.agent.agent import Action
from orchestrator.device.uitree import Bounds, Element
from orchestrator.episode.adb_cuts import asked_for, cuts_adb


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


@pytest.mark.parametrize("kind", ["tap", "long_press", "swipe"])
@pytest.mark.parametrize(
    ("x", "y", "cut"), [(10, 60, True), (90, 60, True), (10, 10, False), (10, 200, False)]
)
def test_a_row_is_what_its_words_say_wherever_and_however_it_is_touched(
    kind: str, x: int, y: int, cut: bool
) -> None:
    """A swipe of no length is a tap."""
    assert cuts_adb(Action(kind, x, y, x, y), ROWS) is cut


@pytest.mark.parametrize(
    ("start", "end", "cut"),
    [
        ((10, 60), (10, 290), True),  # begins on it
        ((10, 290), (10, 99), True),  # ends on it
        ((10, 290), (90, 10), True),  # crosses it
        ((0, 40), (99, 49), False),
        ((0, 100), (99, 290), False),
    ],
)
def test_a_swipe_is_judged_by_all_that_it_crosses(
    start: tuple[int, int], end: tuple[int, int], cut: bool
) -> None:
    assert cuts_adb(Action("swipe", *start, *end), ROWS) is cut


def test_a_label_that_no_row_takes_counts_by_its_own_place() -> None:
    """What merely surrounds it is not a switch."""
    screen = (element(0, "", (0, 0, 100, 300)), element(1, "Power off", (0, 0, 100, 50)))
    assert cuts_adb(Action("swipe", 50, 290, 50, 10), screen)
    row = (*screen[:1], element(1, "", (0, 200, 100, 300), click=True), screen[1])
    assert not cuts_adb(Action("swipe", 50, 290, 50, 210), row)


def test_enter_presses_what_has_the_focus() -> None:
    focused = (replace(element(0, "USB debugging", (0, 0, 9, 9), click=True), focused=True),)
    assert cuts_adb(Action("key", text="enter"), focused)
    assert not cuts_adb(Action("key", text="back"), focused)
    assert not cuts_adb(Action("key", text="enter"), ROWS)


def test_what_touches_nothing_cuts_nothing() -> None:
    assert not cuts_adb(Action("tap", 10, 60), ())
    assert not cuts_adb(Action("type", text="USB debugging"), ROWS)
    empty = (element(0, "USB debugging", (10, 60, 10, 60), click=True),)
    assert not cuts_adb(Action("swipe", 0, 0, 20, 120), empty)


ASKED = [
    "[   95.1] init: Received control message 'stop' for 'adbd' from pid: 512 (system_server)",
    "[   95.1] init: Received sys.powerctl='shutdown,userrequested' from pid: 512 (system_server)",
    "[  381.4][ T350] init: Received sys.powerctl='reboot,recovery' from pid: 431 (system_server)",
    "[  123.0] init: Received sys.powerctl='reboot,' from pid: 1401 (/sbin/recovery)",
]


@pytest.mark.parametrize("line", ASKED)
def test_a_log_shows_what_was_asked_for(line: str) -> None:
    found = asked_for(f"INFO | before\r\n{line}\r\nINFO | after\n")
    assert found == line.partition("] ")[2]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[   95.1] init: Received control message 'start' for 'adbd' from pid: 512 (system_server)",
        "[   95.1] init: Received control message 'stop' for 'bootanim' from pid: 512",
        "[   95.1] init: Received sys.powerctl='shutdown,thermal,battery' from pid: 512",
        "[   95.1] init: Received sys.powerctl='shutdown,battery' from pid: 512 (system_server)",
    ],
)
def test_a_log_without_it_shows_nothing(line: str) -> None:
    assert asked_for(f"before\n{line}\nafter\n") == ""
