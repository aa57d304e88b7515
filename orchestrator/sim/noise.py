"""Restlessness: what differs between two real phones that were asked the same thing.

Without a seed every answer is the quiet one, so a plain phone is repeatable. With one, row ids
jump, pids scatter, the clock drifts, calls lag, and screens animate for a while. The generator
is not part of a snapshot: loading one twice gives the same world but not the same accidents.
"""

from __future__ import annotations

import asyncio
import random


class Noise:
    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._random = None if seed is None else random.Random(seed)

    def row_gap(self) -> int:
        """How far the next row id lies beyond the expected one."""
        return self._random.randrange(0, 40) if self._random else 0

    def pid_gap(self) -> int:
        return self._random.randrange(1, 60) if self._random else 1

    def clock_drift_s(self) -> float:
        """How far the guest's date is from the host's after a boot or a load."""
        return self._random.uniform(-2.0, 2.0) if self._random else 0.0

    def chance(self, probability: float) -> bool:
        return self._random is not None and self._random.random() < probability

    def animation_s(self) -> float:
        """How long a screen keeps moving after it appeared."""
        return self._random.uniform(0.0, 0.25) if self._random else 0.0

    def stretch(self, seconds: float) -> float:
        """An eventual effect's delay, as this phone takes it."""
        return seconds * self._random.uniform(0.5, 3.0) if self._random else seconds

    async def lag(self) -> None:
        """What one call on a busy phone costs beyond its work."""
        if self._random:
            await asyncio.sleep(self._random.expovariate(1 / 0.004))
