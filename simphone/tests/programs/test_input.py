"""input: taps, swipes, text and keys reach what is in front."""

from __future__ import annotations

import re

import pytest

from simphone.ui.screen import Screen
from tests.programs.terminal import Terminal


async def bounds(terminal: Terminal, text: str) -> tuple[int, int]:
    """The middle of the element that shows this text."""
    dumped = await terminal.out("uiautomator dump /dev/tty")
    found = re.search(rf'text="{text}".*?bounds="\[(\d+),(\d+)\]\[(\d+),(\d+)\]"', dumped)
    assert found, dumped
    left, top, right, bottom = map(int, found.groups())
    return (left + right) // 2, (top + bottom) // 2


async def typing(terminal: Terminal) -> Screen:
    await terminal.out("am start -n com.android.settings/.Settings")
    front = terminal.world.windows.front()
    assert front is not None
    front[1].focus = "search"
    return front[1]


async def test_a_tap_opens_what_is_drawn_there_and_prints_nothing(terminal: Terminal) -> None:
    x, y = await bounds(terminal, "Settings")
    assert await terminal.out(f"input tap {x} {y}.5") == ""
    assert terminal.world.windows.focus_name().startswith("com.android.settings/")


async def test_a_swipe_scrolls_and_pulls_the_shade(terminal: Terminal) -> None:
    await terminal.out("input touchscreen swipe 500 10 500 1500 300")
    assert terminal.world.windows.shade
    await terminal.out("input swipe 500 1500 500 300")
    assert not terminal.world.windows.shade


async def test_percent_s_types_a_space(terminal: Terminal) -> None:
    screen = await typing(terminal)
    assert await terminal.out("input text 'hello%sworld%'") == ""
    assert screen.fields["search"] == "hello world%"


async def test_text_that_is_not_ascii_throws_and_types_nothing(terminal: Terminal) -> None:
    screen = await typing(terminal)
    ran = await terminal.run("input text 'abcé'")
    assert ran.code == 255
    assert ran.err.startswith(
        "\nException occurred while executing 'text':\njava.lang.NullPointerException: "
    )
    assert screen.fields.get("search", "") == ""


async def test_keys_are_taken_by_number_and_by_name(terminal: Terminal) -> None:
    screen = await typing(terminal)
    await terminal.out("input keyevent KEYCODE_A B 31 KEYCODE_DEL")
    assert screen.fields["search"] == "ab"
    await terminal.out("input keyevent --longpress KEYCODE_HOME")
    assert terminal.world.windows.focus_name().startswith("com.android.launcher3/")
    await terminal.out("input keyevent 223")
    assert not terminal.world.windows.awake
    await terminal.out("input keyevent KEYCODE_WAKEUP")
    assert terminal.world.windows.awake


async def test_an_unknown_key_does_nothing(terminal: Terminal) -> None:
    before = terminal.world.windows.focus_name()
    assert await terminal.out("input keyevent KEYCODE_NOPE 99999") == ""
    assert terminal.world.windows.focus_name() == before


@pytest.mark.parametrize("line", ["tap x y", "swipe 1 2 3 z", "swipe 1 2 3 4 soon"])
async def test_words_that_are_no_numbers_are_invalid_arguments(
    terminal: Terminal, line: str
) -> None:
    ran = await terminal.run(f"input {line}")
    command = line.split()[0]
    text = f"IllegalArgumentException: Error: Invalid arguments for command: {command}\n"
    assert ran.code == 255
    assert text in ran.err


async def test_missing_words_and_unknown_commands_are_refused(terminal: Terminal) -> None:
    ran = await terminal.run("input tap 5")
    assert ran.code == 255
    assert 'Argument expected after "5"' in ran.err
    assert (await terminal.run("input frob")).out == "Unknown command: frob\n"
    assert (await terminal.run("input")).out.startswith("Usage: input [<source>]")


async def test_no_coordinate_is_too_wild(terminal: Terminal) -> None:
    for words in ("-5 -5", "NaN inf", "1e300 1e300", "99999 99999"):
        assert await terminal.out(f"input tap {words}") == ""
