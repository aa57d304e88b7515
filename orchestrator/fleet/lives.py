"""The slots of a fleet, living side by side: started together, waited for, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from .slot import Slot


class Lives:
    def __init__(self, slots: Sequence[Slot]) -> None:
        self._slots = slots
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        self._tasks = [asyncio.create_task(slot.live(), name=slot.name) for slot in self._slots]

    async def ended(self) -> None:
        """Until every slot has finished or is given up; what nobody foresaw is raised."""
        # Not gathered: a cancelled caller must not cut short what the block's end does in order.
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for life in done:
            life.result()

    @property
    def given_up(self) -> bool:
        """No slot is left that could ever run an episode."""
        return all(slot.state == "given_up" for slot in self._slots)

    async def end(self, error: BaseException | None) -> None:
        """All told to stop, and waited for. What one raised instead is raised, unless the block
        ends with an error of its own."""
        for life in self._tasks:
            life.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        failures = [end for end in ends if isinstance(end, Exception)]
        if failures and error is None:
            raise failures[0]
