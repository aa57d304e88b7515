"""The one seam for faults: named points that the phone passes, and what is planted there.

The phone's code says `faults.at("screencap", png)` where a real phone is known to break; what
happens there is decided by a table of planted faults, never by ifs in the code that works.
A planted fault is a function of what passes the point: it returns what goes on, or raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Plant = Callable[[Any], Any]


class Faults:
    def __init__(self, planted: dict[str, Plant] | None = None) -> None:
        self._planted = planted or {}

    def at(self, point: str, value: T) -> T:
        """The value as it leaves this point: untouched unless a fault is planted here."""
        plant = self._planted.get(point)
        if plant is None:
            return value
        changed: T = plant(value)
        return changed
