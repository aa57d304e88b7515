"""When a phone is ready."""

from __future__ import annotations

import pytest

from orchestrator.device.phone import Device
from orchestrator.device.readiness import missing, wait_ready
from tests.device.conftest import FOCUSED
from tests.device.fakes import FakeAdb, answer, fail, hang


def no_pause(_: float) -> None:
    """The fakes answer at once."""


def test_a_booted_phone_misses_nothing(booted: FakeAdb, device: Device) -> None:
    assert missing(device.shell) == ()
    assert wait_ready(device.shell, 60).ready


@pytest.mark.parametrize(
    ("command", "script", "words"),
    [
        ("getprop sys.boot_completed", answer("\n"), "sys.boot_completed is ''"),
        ("getprop init.svc.bootanim", answer("running\n"), "init.svc.bootanim is 'running'"),
        (
            "pm path android",
            answer("", "cmd: Can't find service: package\n", 20),
            "Can't find service: package",
        ),
        ("service check input", answer("Service input: not found\n"), "input: not found"),
        ("dumpsys window", answer("  mCurrentFocus=null\n"), "no window has it"),
        (
            "dumpsys window",
            answer(
                "  mCurrentFocus=Window{1 u0 Application Not Responding: com.android.systemui}\n"
            ),
            "Not Responding: com.android.systemui",
        ),
        ("dumpsys window", answer("Can't find service: window\n"), "no mCurrentFocus"),
        ("dumpsys window", fail("device offline"), "device offline"),
    ],
)
def test_each_condition_is_missed_by_name(
    booted: FakeAdb, device: Device, command: str, script: bytes, words: str
) -> None:
    booted.shell(command, script)
    [text] = missing(device.shell)
    assert words in text
    readiness = wait_ready(device.shell, 0, pause=no_pause)
    assert not readiness.ready
    assert words in readiness.missing[0]


def test_readiness_waits_on_conditions(booted: FakeAdb, device: Device) -> None:
    booted.shell("getprop sys.boot_completed", fail("device offline"), answer("\n"), answer("1\n"))
    booted.shell("dumpsys window", answer("  mCurrentFocus=null\n"), FOCUSED)
    assert wait_ready(device.shell, 10, pause=no_pause).ready


def test_a_phone_that_hangs_does_not_stretch_the_wait(booted: FakeAdb, device: Device) -> None:
    """Each question's own time-out is longer than what is left of the whole."""
    booted.shell("getprop sys.boot_completed", hang)
    readiness = wait_ready(device.shell, 0.05, pause=no_pause)
    assert "no whole answer within 1 s" in readiness.missing[0]
