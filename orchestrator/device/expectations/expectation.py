"""What is an expectation, and how is one written down?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..deadline import Deadline
from ..phone import Device


@dataclass(frozen=True)
class CheckResult:
    """What a look showed; `holds` is None where the device has not what it takes to look."""

    holds: bool | None
    text: str


Look = Callable[[Device], CheckResult]


@dataclass(frozen=True)
class Expectation:
    name: str
    why: str
    expected: str
    look: Look
    destructive: bool = False
    needs_console: bool = False


def equal(seen: object, wanted: object) -> CheckResult:
    return CheckResult(seen == wanted, _shown(seen))


def all_of(**looks: tuple[object, object]) -> CheckResult:
    """Several (seen, wanted) pairs, each shown under its name."""
    text = ", ".join(f"{name}={_shown(seen)}" for name, (seen, _) in looks.items())
    return CheckResult(all(seen == wanted for seen, wanted in looks.values()), text)


def eventually(look: Callable[[], CheckResult], seconds: float) -> CheckResult:
    """The first look that holds, or the last one once the time has passed."""
    deadline, pause = Deadline(seconds), 0.02
    while True:
        seen = look()
        if seen.holds or deadline.passed:
            return seen
        time.sleep(pause)
        pause = min(pause * 1.5, 1.0)


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes" if len(value) > 80 else repr(value)
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
