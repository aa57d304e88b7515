"""The life of one slot: pairs of a device and its worker, one after another while that may help.

What makes and ends a pair is the backend's; here is what all backends share: how often, how soon,
and what is told of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ..errors import EmufarmError
from .fact import Fact, Kind

PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0  # between two starts of a device, doubled each time


class Hopeless(EmufarmError):
    """No further pair can be made here, however often it is tried."""


@dataclass(frozen=True)
class Bounds:
    starts: int  # of a device, and crashes of its worker, before a slot is given up
    first: Mapping[str, int]  # a slot's first device number, where the run used the lower ones


class Slot:
    """`pair` is one device from its making to its end; it comes to True once its worker has left
    for good, and to False where another device may do better."""

    def __init__(
        self,
        number: int,
        bounds: Bounds,
        pair: Callable[[Slot], Awaitable[bool]],
        on_fact: Callable[[Fact], None],
    ) -> None:
        self.number = number
        self.name = f"slot-{number:02d}"
        self.device = ""  # <slot>.<n>: the n-th device in this slot
        self.state = "starting"  # starting | running | finished | given_up | stopped
        self.reason = ""  # of the last trouble
        self._bounds = bounds
        self._pair = pair
        self._on_fact = on_fact
        self._crashes = 0

    async def live(self) -> None:
        """Until its worker leaves because all is decided, or until it is given up."""
        try:
            await self._live()
        except Hopeless as error:
            self._given_up(str(error))
        except asyncio.CancelledError:
            self.state = "stopped"
            raise

    async def _live(self) -> None:
        first, pause = self._bounds.first.get(self.name, 1), PAUSE_S
        for number in range(first, first + self._bounds.starts):
            self.device, self.state = f"{self.name}.{number}", "starting"
            if await self._pair(self):
                self.state = "finished"
                return
            if self.worn_out:
                break
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
        self._given_up(self.reason)

    @property
    def worn_out(self) -> bool:
        """Its workers crashed as often as may be."""
        return self._crashes >= self._bounds.starts

    def crashed(self, code: int | None, text: str) -> float:
        """Told of a worker; the pause before the next one."""
        self._crashes += 1
        self.tell("worker_lost", code, text)
        return min(PAUSE_S * 2.0**self._crashes, LONGEST_PAUSE_S)

    def tell(self, kind: Kind, exit_code: int | None, text: str) -> None:
        self.reason = text.strip() or f"{kind}, exit code {exit_code}"
        self._on_fact(Fact(self.device, kind, exit_code, self.reason))

    def _given_up(self, why: str) -> None:
        self.state = "given_up"
        self.tell("slot_given_up", None, why)
