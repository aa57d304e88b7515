"""The app in the foreground, the screen's rotation, and apps that do not respond.

Parsed from whole dumps, because grep on the phone would hide a dump that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell

# Three spellings in three Android versions; some builds omit the closing brace or double it.
# Matched only at the start of a line: further on, an intent's address may contain anything.
_RESUMED = re.compile(
    r"^\s*(?:m?ResumedActivity: |topResumedActivity=)ActivityRecord\{(.*)$", re.MULTILINE
)
_FOCUS = re.compile(r"^\s*mCurrentFocus=(.*)$", re.MULTILINE)
_FOCUSED_APP = re.compile(r"^\s*mFocusedApp=(?:\w+\{)?(.*)$", re.MULTILINE)
_COMPONENT = re.compile(r"([A-Za-z][\w.]*)/([\w.$]+)")
# At the start of a line it is the display's rotation, further on a window's. Two spellings.
_ROTATION = re.compile(r"^\s*mRotation=(?:ROTATION_(0|90|180|270)|([0-3]))\b", re.MULTILINE)
_NOT_RESPONDING = re.compile(r"(?:Application )?Not Responding: ([\w.]+)")


@dataclass(frozen=True)
class Foreground:
    """The focused window and the resumed activity; each is None if there is none."""

    focus: str | None  # the window's title: a component, or a name such as NotificationShade
    package: str | None
    activity: str | None  # the full class name
    not_responding: str | None  # the package whose ANR dialog has the focus
    rotation: int | None = None  # quarter turns from the natural orientation; None: unknown


def full_activity(package: str, activity: str) -> str:
    """The full class name; `.Short` is relative to the package."""
    return f"{package}{activity}" if activity.startswith(".") else activity


def parse_focus(dump: str) -> tuple[str | None, str | None]:
    """From `dumpsys window`: the focused window's title, and the package that does not respond."""
    values = [match[1].strip() for match in _FOCUS.finditer(dump)]
    if not values:
        raise DeviceFault("bad_answer", "no mCurrentFocus in it", during="dumpsys window")
    for value in values:
        if value.startswith("null"):  # one of several displays, without a focus
            continue
        hung = _NOT_RESPONDING.search(value)
        inside = value.removeprefix("Window{").rstrip("}")
        words = inside.split(" ", 2)  # an identity, a user, then the title with its spaces
        title = words[2] if len(words) == 3 else inside
        return title, hung[1] if hung else None
    return None, None


def parse_resumed(dump: str) -> tuple[str, str] | None:
    """From `dumpsys activity activities`: package and full activity name, or None."""
    return _component(_RESUMED, dump)


def parse_front(windows: str, activities: str) -> tuple[str, str] | tuple[None, None]:
    """From both dumps: package and full activity name of the app in the foreground."""
    return parse_resumed(activities) or _component(_FOCUSED_APP, windows) or (None, None)


def _component(line: re.Pattern[str], dump: str) -> tuple[str, str] | None:
    """The first component in a line of this form."""
    for match in line.finditer(dump):
        if found := _COMPONENT.search(match[1]):
            return found[1], full_activity(found[1], found[2])
    return None


def parse_rotation(dump: str) -> int | None:
    """From `dumpsys window`: quarter turns of the first display."""
    found = _ROTATION.search(dump)
    if found is None:
        return None
    return int(found[1]) // 90 if found[1] is not None else int(found[2])


def foreground(shell: Shell) -> Foreground:
    windows = shell.answer("dumpsys", "window")
    activities = shell.answer("dumpsys", "activity", "activities")
    focus, hung = parse_focus(windows)
    package, activity = parse_front(windows, activities)
    return Foreground(focus, package, activity, hung, parse_rotation(windows))
