"""Restlessness: what differs between two real phones that were asked the same thing.

Without a seed every answer is the quiet one, so a plain phone is repeatable. With one, row ids
jump, pids scatter, the clock drifts, calls lag, and screens animate for a while. Each of these
draws from a generator of its own, so the row ids of a seed do not depend on how often somebody
polled. The generators are not part of a snapshot: loading one twice gives the same world but not
the same accidents.
"""

from __future__ import annotations

import asyncio
import random


class Noise:
    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._generators: dict[str, random.Random] = {}

    def _random(self, what: str) -> random.Random:
        if what not in self._generators:
            self._generators[what] = random.Random(f"{self.seed} {what}")
        return self._generators[what]

    def row_gap(self) -> int:
        """How far the next row id lies beyond the expected one."""
        return 0 if self.seed is None else self._random("rows").randrange(0, 40)

    def pid_gap(self) -> int:
        return 1 if self.seed is None else self._random("pids").randrange(1, 60)

    def clock_drift_s(self) -> float:
        """How far the guest's date is from the host's after a boot or a load."""
        return 0.0 if self.seed is None else self._random("clock").uniform(-2.0, 2.0)

    def chance(self, probability: float) -> bool:
        return self.seed is not None and self._random("chance").random() < probability

    def animation_s(self) -> float:
        """How long a screen keeps moving after it appeared."""
        return 0.0 if self.seed is None else self._random("animation").uniform(0.0, 0.25)

    def stretch(self, seconds: float) -> float:
        """An eventual effect's delay, as this phone takes it."""
        return seconds if self.seed is None else seconds * self._random("delay").uniform(0.5, 3.0)

    async def lag(self) -> None:
        """What one call on a busy phone costs beyond its work."""
        if self.seed is not None:
            await asyncio.sleep(self._random("lag").expovariate(1 / 0.004))
