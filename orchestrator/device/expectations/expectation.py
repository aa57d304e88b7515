"""The record of an expectation, its result, and the comparisons that produce results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..deadline import Deadline
from ..phone import Device


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `holds` is None if the device lacks what the check needs."""

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


def collector(
    checks: list[Expectation], *, destructive: bool = False, needs_console: bool = False
) -> Callable[[str, str, str], Callable[[Look], Look]]:
    """A decorator that adds a check to the list: @expect(name, why, what is expected)."""

    def expect(name: str, why: str, expected: str) -> Callable[[Look], Look]:
        def add(look: Look) -> Look:
            checks.append(Expectation(name, why, expected, look, destructive, needs_console))
            return look

        return add

    return expect


def equal(seen: object, wanted: object) -> CheckResult:
    return CheckResult(seen == wanted, _shown(seen))


def all_of(**looks: tuple[object, object]) -> CheckResult:
    """Compares several (seen, wanted) pairs and shows each under its name."""
    text = ", ".join(f"{name}={_shown(seen)}" for name, (seen, _) in looks.items())
    return CheckResult(all(seen == wanted for seen, wanted in looks.values()), text)


def eventually(look: Callable[[], CheckResult], seconds: float) -> CheckResult:
    """Repeats the check; returns the first result that holds, or the last one after the time."""
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
