"""The one seam for faults: named points that the phone passes, and what is armed there.

The phone's code says `faults.at("screencap", png)` where a real phone is known to break; what
happens there is decided by what is armed, never by ifs in the code that works. What is planted at
a point is a function of what passes it: it returns what goes on, or raises.

What is armed is no part of a snapshot: it is the tester's and not the phone's. It stays armed
through loads and reboots and ends with the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .order import FaultOrder

T = TypeVar("T")
Plant = Callable[[Any], Any]


@dataclass
class ArmedFault:
    order: FaultOrder
    plant: Plant
    passages: int = 0  # of its point, by what its class concerns
    happened: int = 0

    @property
    def armed(self) -> bool:
        """It can still happen."""
        return self.happened < self.order.times

    def passed(self, value: Any) -> bool:
        """Counts the passage; whether the fault happens at this one."""
        if not self.order.fault.concerns(value, self.order.argument):
            return False
        self.passages += 1
        due = self.armed and self.passages > self.order.after
        self.happened += due
        return due


class Faults:
    def __init__(self, planted: dict[str, Plant] | None = None) -> None:
        self._planted = planted or {}
        self._armed: list[ArmedFault] = []

    def at(self, point: str, value: T) -> T:
        """The value as it leaves this point: untouched unless a fault happens here.

        Of several that happen at once each gets what the one before has left.
        """
        due = [one.plant for one in self._armed if one.order.point == point and one.passed(value)]
        if point in self._planted:
            due.append(self._planted[point])
        for plant in due:
            value = plant(value)
        return value

    def arm(self, order: FaultOrder, plant: Plant) -> None:
        self._armed.append(ArmedFault(order, plant))

    def armed(self) -> tuple[ArmedFault, ...]:
        """All since the last `clear`, in the order of their arming; some may be spent."""
        return tuple(self._armed)

    def clear(self) -> None:
        """Nothing is armed any more; what has happened has happened."""
        self._armed.clear()
