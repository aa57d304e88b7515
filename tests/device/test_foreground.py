"""The foreground app and the notifications, in every form in which phones print them."""

from __future__ import annotations

import pytest

from orchestrator.device.foreground import parse_focus, parse_resumed, parse_rotation
from orchestrator.device.notifications import Notification, parse_notifications
from orchestrator.device.phone import Device
from tests.device.fakes import FakeAdb, answer, reason

FOCUS = "  mCurrentFocus=Window{c63b9b5 u0 com.x/com.x.MainActivity}\n"


@pytest.mark.parametrize(
    ("dump", "focus", "hung"),
    [
        (FOCUS, "com.x/com.x.MainActivity", None),
        (
            "  mCurrentFocus=Window{1 u0 com.x/com.x.MainActivity}}\n",
            "com.x/com.x.MainActivity",
            None,
        ),
        ("  mCurrentFocus=Window{1 u0 NotificationShade}\n", "NotificationShade", None),
        ("  mCurrentFocus=null\n", None, None),
        ("  mCurrentFocus=null\n" + FOCUS, "com.x/com.x.MainActivity", None),
        (
            "  mCurrentFocus=Window{1 u0 Application Not Responding: com.android.systemui}\n",
            "Application Not Responding: com.android.systemui",
            "com.android.systemui",
        ),
    ],
)
def test_the_focus_is_read_in_every_form(dump: str, focus: str | None, hung: str | None) -> None:
    assert parse_focus(dump) == (focus, hung)


def test_a_dump_without_a_focus_line_is_a_fault() -> None:
    assert reason(lambda: parse_focus("WINDOW MANAGER nothing\n")) == "bad_answer"


@pytest.mark.parametrize(
    "line",
    [
        "    mResumedActivity: ActivityRecord{ba1d946 u0 com.x/.MainActivity t615}",
        "  ResumedActivity: ActivityRecord{ba1d946 u0 com.x/.MainActivity t615}",
        "    topResumedActivity=ActivityRecord{ba1d946 u0 com.x/.MainActivity t615}",
        "    topResumedActivity=ActivityRecord{ba1d946 u0 com.x/.MainActivity} t615}",
    ],
)
def test_the_resumed_activity_has_three_spellings(line: str) -> None:
    assert parse_resumed(f"stack\n{line}\nmore\n") == ("com.x", "com.x.MainActivity")


def test_an_intents_address_does_not_pose_as_the_resumed_activity() -> None:
    posing = "http://x/?topResumedActivity=ActivityRecord{1 u0 com.bank/.Main t1}"
    resumed = "  ResumedActivity: ActivityRecord{2 u0 com.x/.A t2}"
    dump = f"      Intent {{ act=VIEW dat={posing} }}\n{resumed}\n"
    assert parse_resumed(dump) == ("com.x", "com.x.A")


def test_no_resumed_activity_is_none() -> None:
    assert parse_resumed("    mResumedActivity: null\n") is None


@pytest.mark.parametrize(
    ("line", "turns"),
    [
        ("      mRotation=ROTATION_0", 0),
        ("      mRotation=ROTATION_270", 3),
        ("      mRotation=1 mDeferredRotationPauseCount=0", 1),
        ("    mRotation=7", None),
        ("    winConfig={ mBounds=Rect(0, 0 - 1, 2) mRotation=ROTATION_90}", None),
    ],
)
def test_the_displays_rotation_is_read_in_quarter_turns(line: str, turns: int | None) -> None:
    """A window's own configuration names one too, within its line."""
    assert parse_rotation(f"  DisplayRotation\n{line}\n") == turns


def test_the_foreground_joins_both_dumps(adb: FakeAdb, device: Device) -> None:
    adb.shell("dumpsys window", answer("  mCurrentFocus=null\n  mFocusedApp=null\n"))
    adb.shell("dumpsys activity activities", answer("nothing resumed\n"))
    assert device.foreground().package is None
    focused = "  mFocusedApp=ActivityRecord{ba1d946 u0 com.x/.MainActivity t615}\n"
    adb.shell("dumpsys window", answer(FOCUS + focused))
    found = device.foreground()
    assert (found.package, found.activity) == ("com.x", "com.x.MainActivity")


def test_notifications_are_read_with_their_texts() -> None:
    dump = (
        "Current Notification Manager state:\n  Notification List:\n"
        "    NotificationRecord(0x0d3: pkg=com.x user=UserHandle{0} id=4 tag=null importance=3)\n"
        "      extras={\n"
        "          android.title=String (Ann)\n"
        "          android.text=String (two (2)\nlines)\n"
        "          android.showWhen=Boolean (true)\n"
        "      }\n"
        "    NotificationRecord(0x0d4: pkg=com.y user=UserHandle{0} id=5 tag=t importance=2)\n"
    )
    assert parse_notifications("  Notification List:\n") == ()
    assert parse_notifications(dump) == (
        Notification("com.x", 4, None, "Ann", "two (2)\nlines"),
        Notification("com.y", 5, "t", None, None),
    )
