"""A slot: starts one pair after another, with growing pauses, until it is done or is given up.

How a pair is made and ended is the backend's. Here is what all backends share: when the next pair
starts, when the slot is given up, and what is reported of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from ..errors import EmufarmError
from ..outcome import DISRUPTIONS, Cause
from .fact import DeviceFact, FactKind, OnFact

PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0  # between two starts, doubled each time
# A device plugin or a container runtime that was restarted needs so long to be back.
HOST_PAUSE_S, LONGEST_HOST_PAUSE_S = 15.0, 60.0
_OF_THE_HOST = frozenset({Cause.REJECTED, Cause.RUNTIME_ERROR})
_MOST_DOUBLINGS = 10
# No other device would do better. Whoever reports an image error has waited for the image.
_HOPELESS = frozenset({Cause.CONFIG_ERROR, Cause.IMAGE_ERROR, Cause.PIN_MISMATCH})
# How many devices in a row may fail to start by the same cause; others count for `starts` alone.
# Only starts: what a device at work ends by may be its episode's doing, which has attempts of its
# own and must not cost the run a slot.
_MOST_FAILED_STARTS = {
    Cause.REJECTED: 3,
    Cause.RUNTIME_ERROR: 2,
    Cause.CRASHED: 2,
    Cause.OUT_OF_MEMORY: 2,
    Cause.STORAGE: 2,
    Cause.DEADLINE: 2,
}


class NoMorePairs(EmufarmError):
    """No further pair can be made here, however often it is tried."""


class Slot:
    """Counts the starts in a row without a commit, of devices and of workers that crash. After
    `starts` of them the slot is given up, and sooner where the cause says that more are in vain; a
    disruption that is nobody's fault does not count.

    `run_pair` is one pair from its making to its end. It returns True once its worker has left for
    good, and False if the slot should start another pair.
    """

    def __init__(
        self,
        number: int,
        starts: int,
        first: int,  # number of its first device; a resumed run has used the lower ones
        run_pair: Callable[[Slot], Awaitable[bool]],
        on_fact: OnFact,
    ) -> None:
        self.number = number
        self.name = slot_name(number)
        self.device = ""  # <slot>.<n>: the n-th device in this slot
        self.state = "starting"  # starting | queued | running | finished | given_up | stopped
        self.reason = ""  # of the last trouble
        self._starts = starts
        self._next = first
        self._run_pair = run_pair
        self._on_fact = on_fact
        self._cause = Cause.UNKNOWN  # of the last trouble
        self._failures = 0  # in a row without a commit
        self._troubles = 0  # likewise, with those that do not count
        self._failed_starts: Counter[Cause] = Counter()  # since a device started

    async def live(self) -> None:
        """Until its worker leaves because all is decided, or until it is given up."""
        try:
            while not await self._one_pair():
                if self.exhausted:
                    raise NoMorePairs(self.reason)
                await asyncio.sleep(self.pause_s)
            self.state = "finished"
        except NoMorePairs as error:
            self.state = "given_up"
            self.report("slot_given_up", self._cause, None, str(error))

    async def _one_pair(self) -> bool:
        self.device, self.state = f"{self.name}.{self._next}", "starting"
        self._next += 1
        return await self._run_pair(self)

    @property
    def exhausted(self) -> bool:
        """No further start is worth its time."""
        if self._cause in _HOPELESS or self._failures >= self._starts:
            return True
        most = _MOST_FAILED_STARTS.get(self._cause, self._starts)
        return self._failed_starts[self._cause] >= most

    @property
    def pause_s(self) -> float:
        """Before the next start."""
        doublings = min(max(self._troubles - 1, 0), _MOST_DOUBLINGS)
        first, longest = PAUSE_S, LONGEST_PAUSE_S
        if self._cause in _OF_THE_HOST:
            first, longest = HOST_PAUSE_S, LONGEST_HOST_PAUSE_S
        return min(first * 2.0**doublings, longest)

    def committed(self) -> None:
        """Its worker committed an attempt, so its devices can work: counting starts again."""
        self._failures = self._troubles = 0
        self._failed_starts.clear()

    def report(self, kind: FactKind, cause: Cause, exit_code: int | None, text: str) -> None:
        self.reason = text.strip() or f"{kind}, exit code {exit_code}"
        self._cause = cause
        self._troubles += 1
        free = cause in DISRUPTIONS and (kind, cause) != ("device_not_started", Cause.ASKED_TO_STOP)
        if not free:  # a device that ends with 143 at every start would be tried for ever
            self._failures += 1
            self._failed_starts[cause] += 1
        if kind != "device_not_started":  # it had started
            self._failed_starts.clear()
        self._on_fact(DeviceFact(self.device, kind, cause, exit_code, self.reason))


def slot_name(number: int) -> str:
    return f"slot-{number:02d}"


def device_numbers(device: str) -> tuple[int, int]:
    """The number of its slot, and which device it is there."""
    slot, _, number = device.removeprefix("slot-").rpartition(".")
    return int(slot), int(number)
