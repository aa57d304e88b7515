"""What stands in front on the phone, and is something not responding?

From plain dumps, filtered here: the phone's own grep would hide a dump that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell

# Three spellings in three Android versions; some builds leave the closing brace out or double it.
_RESUMED = re.compile(
    r"(?:mResumedActivity: |\bResumedActivity: |topResumedActivity=)ActivityRecord\{(.*)$",
    re.MULTILINE,
)
_FOCUS = re.compile(r"^\s*mCurrentFocus=(.*)$", re.MULTILINE)
_FOCUSED_APP = re.compile(r"^\s*mFocusedApp=(?:\w+\{)?(.*)$", re.MULTILINE)
_COMPONENT = re.compile(r"([A-Za-z][\w.]*)/([\w.$]+)")
_NOT_RESPONDING = re.compile(r"(?:Application )?Not Responding: ([\w.]+)")


@dataclass(frozen=True)
class Foreground:
    """The focused window and the resumed activity, each None where there is none."""

    focus: str | None  # the window's title: a component, or a name such as NotificationShade
    package: str | None
    activity: str | None  # the full class name
    not_responding: str | None  # the package whose ANR dialog has the focus


def _component(text: str) -> tuple[str, str] | None:
    found = _COMPONENT.search(text)
    if found is None:
        return None
    package, activity = found[1], found[2]
    return package, f"{package}{activity}" if activity.startswith(".") else activity


def parse_focus(dump: str) -> tuple[str | None, str | None]:
    """From `dumpsys window`: the focused window's title, and the package that does not respond.

    Of several displays' lines the first that is not null counts.
    """
    values = [match[1].strip() for match in _FOCUS.finditer(dump)]
    if not values:
        raise DeviceFault("bad_answer", "no mCurrentFocus in it", during="dumpsys window")
    for value in values:
        if value.startswith("null"):
            continue
        hung = _NOT_RESPONDING.search(value)
        inside = value.removeprefix("Window{").rstrip("}")
        words = inside.split(" ", 2)  # an identity, a user, then the title with its spaces
        title = words[2] if len(words) == 3 else inside
        return title, hung[1] if hung else None
    return None, None


def parse_resumed(dump: str) -> tuple[str, str] | None:
    """From `dumpsys activity activities`: package and full activity name, or None."""
    for match in _RESUMED.finditer(dump):
        found = _component(match[1])
        if found is not None:
            return found
    return None


def parse_focused_app(dump: str) -> tuple[str, str] | None:
    for match in _FOCUSED_APP.finditer(dump):
        found = _component(match[1])
        if found is not None:
            return found
    return None


def foreground(shell: Shell) -> Foreground:
    windows = shell.answer("dumpsys", "window")
    activities = shell.answer("dumpsys", "activity", "activities")
    focus, hung = parse_focus(windows)
    app = parse_resumed(activities) or parse_focused_app(windows)
    package, activity = app if app is not None else (None, None)
    return Foreground(focus, package, activity, hung)
