"""The notifications that the phone shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell

_RECORD = re.compile(r"NotificationRecord\(\S+: pkg=(\S+) user=\S+ id=(-?\d+) tag=(.*?) ")
# A value may contain newlines and brackets: it ends before the next extra or the closing brace.
_EXTRA = re.compile(
    r"^\s+android\.(title|text)=\w+ ?\((.*?)\)\s*?\n(?=\s*(?:[\w.]+=|\}))",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Notification:
    package: str
    id: int
    tag: str | None
    title: str | None
    text: str | None


def parse_notifications(dump: str) -> tuple[Notification, ...]:
    """From `dumpsys notification --noredact`; without the flag it shows only texts' lengths."""
    if "Notification" not in dump:
        raise DeviceFault("bad_answer", f"{dump[:200]!r}", during="dumpsys notification")
    records = list(_RECORD.finditer(dump))
    found: dict[tuple[str, int, str | None], Notification] = {}
    for number, match in enumerate(records, 1):
        end = records[number].start() if number < len(records) else len(dump)
        extras = dict(_EXTRA.findall(dump, match.end(), end))
        tag = None if match[3] == "null" else match[3]
        key = (match[1], int(match[2]), tag)
        # The dump repeats a record in shorter lists: the first, complete one counts.
        found.setdefault(key, Notification(*key, extras.get("title"), extras.get("text")))
    return tuple(found.values())


def notifications(shell: Shell) -> tuple[Notification, ...]:
    return parse_notifications(shell.answer("dumpsys", "notification", "--noredact"))
