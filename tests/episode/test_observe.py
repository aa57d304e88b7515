"""The screen event of a step, for a phone that is rotated and for one that does not report it."""

from __future__ import annotations

import pytest

from orchestrator.device.screen import Display, Screenshot
from orchestrator.episode.observe import screen_fields
from tests.episode.stage import Says, Stage

NATURAL = Display(1080, 2400, 420, overridden=False)


@pytest.mark.parametrize(
    ("turns", "width", "height", "orientation"),
    [
        (0, 1080, 2400, "portrait"),
        (1, 2400, 1080, "landscape"),
        (2, 1080, 2400, "portrait"),
        (3, 2400, 1080, "landscape"),
        (None, 1080, 2400, "portrait"),
    ],
)
def test_the_logical_size_is_turned_and_the_frame_is_the_pictures(
    turns: int | None, width: int, height: int, orientation: str
) -> None:
    fields = screen_fields(NATURAL, turns, Screenshot(b"", width, height))
    assert (fields["width_px"], fields["height_px"]) == (1080, 2400)
    assert fields["surface_orientation"] == turns
    assert fields["orientation"] == orientation
    assert fields["logical_screen_size_px"] == {"width": width, "height": height}
    assert fields["physical_frame_boundary_px"] == {
        "left": 0, "top": 0, "right": width, "bottom": height,
    }  # fmt: skip


def test_rotation_and_state_are_the_phones_own_words(stage: Stage) -> None:
    stage.play(Says())
    (screen,) = stage.trace("screen_trace")
    assert screen["surface_orientation"] == 0
    (device,) = stage.trace("device_trace", "device")
    assert device["state"] == stage.device.adb_socket.state() == "device"
    assert device["serial"] == stage.device.serial
