"""Every planted defect is a lie that its phone really tells, and no other phone does."""

from __future__ import annotations

from pathlib import Path

import pytest

from simphone.defects import DEFECTS, planted
from simphone.faults import Faults
from tests.booted import ask, booted

PASSING: dict[str, list[object]] = {
    "adbd.exit": [1],
    "shell.stdout": [b"a\n"],
    "screencap": [b"\x89PNG....IEND"],
    "settings.get": ["null"],
    "uiautomator.dump": ["<hierarchy>1</hierarchy>", "<hierarchy>2</hierarchy>"],
    "program": [
        ["content", "query", "--uri", "content://com.android.calendar/calendars"],
        ["content", "query", "--uri", "content://com.android.calendar/events"],
    ],
    "snapshot.load": [True],
    "console.reply": ["KO: no\r\n"],
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_changes_what_passes_its_point_and_nothing_else(name: str) -> None:
    faults = Faults(planted([name]))
    for point, values in PASSING.items():
        seen = [faults.at(point, value) for value in values]
        assert (seen != values) == (point == DEFECTS[name][0])


def test_each_point_is_used_by_some_defect() -> None:
    assert {point for point, _ in DEFECTS.values()} == set(PASSING)


async def test_a_load_that_does_nothing_still_says_ok(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-fault", "snapshot-load-noop") as phone:
        assert await ask(phone, "avd snapshot save a") == "OK\r\n"
        phone.world.clipboard.text = "still there"
        assert await ask(phone, "avd snapshot load a") == "OK\r\n"
        assert phone.world.clipboard.text == "still there"


async def test_a_refusal_can_be_told_as_ok(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-fault", "console-ko-as-ok") as phone:
        assert await ask(phone, "avd snapshot load nothing") == "OK\r\n"
