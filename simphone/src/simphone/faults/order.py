"""A class of fault, and the words that arm one: `CLASS [at=POINT] [after=N] [times=M]`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..phone import Phone

ALWAYS = sys.maxsize
# Of passages to wait for, and of times.
MOST = 1_000_000
# Nothing passes these once there is a console.
BEFORE_CONSOLE = ("start", "start.snapshot")


class BadOrder(Exception):
    """Why a fault cannot be armed, in one sentence."""


@dataclass(frozen=True)
class FaultArgument:
    """What a class can be told beside where and when: `name=VALUE`."""

    name: str
    default: Any
    wanted: str  # what a value is, for whoever gives another
    read: Callable[[str], Any]  # None for what it is not


def seconds(default: int, most: int) -> FaultArgument:
    def read(text: str) -> float | None:
        number = float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text) else -1.0
        return number if 0 <= number <= most else None

    return FaultArgument("seconds", float(default), f"a number from 0 to {most}", read)


def _everything(value: Any, argument: Any) -> bool:
    return True


@dataclass(frozen=True)
class FaultClass:
    name: str
    points: tuple[str, ...]  # where it can be armed; at the first, unless `at=` says another
    does: str  # what happens, in one line of the table
    # What is planted: made anew for each arming, so that it may remember.
    make: Callable[[Phone, FaultOrder], Callable[[Any], Any]]
    times: int = 1
    argument: FaultArgument | None = None
    # Which of the passages count: those at which the fault can be seen.
    concerns: Callable[[Any, Any], bool] = _everything


@dataclass(frozen=True)
class FaultOrder:
    fault: FaultClass
    point: str
    after: int  # passages that go well before
    times: int
    argument: Any = None

    def __str__(self) -> str:
        """The words that arm it."""
        times = "always" if self.times == ALWAYS else self.times
        words = f"{self.fault.name} at={self.point} after={self.after} times={times}"
        known = self.fault.argument
        return words if known is None else f"{words} {known.name}={self.argument}"


def read_order(words: Sequence[str], classes: Mapping[str, FaultClass]) -> FaultOrder:
    """BadOrder where the words arm nothing."""
    if not words or not words[0]:
        raise BadOrder("a fault's class is missing")
    fault = classes.get(words[0])
    if fault is None:
        raise BadOrder(f"there is no fault {words[0][:80]!r}, only: {', '.join(classes)}")
    given: dict[str, str] = {}
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name in given:
            raise BadOrder(f"{fault.name} is given {name[:80]} twice")
        given[name] = value
    point = given.pop("at", fault.points[0])
    if point not in fault.points:
        raise BadOrder(f"{fault.name} happens at {' or '.join(fault.points)}, not {point[:80]!r}")
    after = _number("after", given.pop("after", "0"), 0)
    times = given.pop("times", "always" if fault.times == ALWAYS else str(fault.times))
    count = ALWAYS if times == "always" else _number("times", times, 1, ", or 'always'")
    argument = _argument(fault.argument, given)
    if given:
        known = ["at", "after", "times", *([fault.argument.name] if fault.argument else [])]
        raise BadOrder(f"{fault.name} takes {', '.join(known)}, not {next(iter(given))[:80]!r}")
    return FaultOrder(fault, point, after, count, argument)


def _number(name: str, text: str, least: int, besides: str = "") -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= MOST:
        raise BadOrder(
            f"{name} must be a number from {least} to {MOST}{besides}, not {text[:80]!r}"
        )
    return int(text)


def _argument(known: FaultArgument | None, given: dict[str, str]) -> Any:
    """Takes it from what is given."""
    if known is None or known.name not in given:
        return known and known.default
    text = given.pop(known.name)
    value = known.read(text)
    if value is None:
        raise BadOrder(f"{known.name} must be {known.wanted}, not {text[:80]!r}")
    return value
