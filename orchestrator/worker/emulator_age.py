"""How old and worn a worker's emulator is: the seconds since its start, and the attempts begun."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..device.faults import DeviceFault
from ..device.supervisor_client import SupervisorClient
from ..outcome import EmulatorAge


class EmulatorWear:
    """Counts attempts, each of which loads the snapshot, in one life of the emulator.

    The supervisor knows when it started the emulator, so that a worker that comes to a phone that
    has booted already, as in a Pod, measures the same as one that waited for it.
    """

    def __init__(
        self, supervisor: SupervisorClient | None, wall_s: Callable[[], float] = time.time
    ) -> None:
        self._supervisor = supervisor
        self._wall_s = wall_s
        self._life: str | None = None
        self.loads = 0

    def booted(self, limit_s: float) -> float | None:
        """The seconds from the emulator's start until now, when its phone is ready. None if the
        supervisor does not answer, or if no boot takes so long: an earlier worker had it."""
        seconds, _ = self._look()
        return None if seconds is None or seconds > limit_s else seconds

    def begin_attempt(self) -> EmulatorAge | None:
        """The age at which an attempt begins, once for each; None without an answer."""
        seconds, life = self._look()
        if life is not None and self._life is not None and life != self._life:
            self.loads = 1  # the reset before started the emulator again, and loaded its snapshot
        self._life = life or self._life
        age = None if seconds is None else EmulatorAge(self.loads, seconds)
        self.loads += 1
        return age

    def restarted(self) -> None:
        """Between two attempts, as planned."""
        self._life, self.loads = None, 0

    def _look(self) -> tuple[float | None, str | None]:
        if self._supervisor is None:
            return None, None
        try:
            facts = self._supervisor.facts()
        except DeviceFault:
            return None, None
        return round(max(0.0, self._wall_s() - facts.started_at), 3), facts.life
