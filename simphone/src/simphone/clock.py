"""The guest's two clocks: time since boot, and the date."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from .state import Json


class Clock:
    """Uptime counts from the boot; the date is the host's plus an offset that `date` can move.

    A snapshot carries both, so that after a load the phone believes no time has passed since
    boot but the saved one, as a real guest does.
    """

    def __init__(self) -> None:
        self._booted = time.monotonic()
        self.offset_s = 0.0
        self._stopped_s: float | None = None  # the host's time at which the date stands still

    def uptime(self) -> float:
        return time.monotonic() - self._booted

    def now(self) -> float:
        """Seconds since the epoch, as the guest sees it."""
        return self._host_s() + self.offset_s

    def _host_s(self) -> float:
        return time.time() if self._stopped_s is None else self._stopped_s

    def freeze(self) -> None:
        """The date stands still from now until a boot or a load; uptime goes on."""
        self._stopped_s = self._host_s()

    def now_ms(self) -> int:
        return int(self.now() * 1000)

    def date(self) -> datetime:
        """The guest's wall clock; the phone's zone is always UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    def set_date(self, seconds: float) -> None:
        self.offset_s = seconds - self._host_s()

    def reboot(self) -> None:
        self._booted = time.monotonic()
        self._stopped_s = None

    def save(self) -> Json:
        return {"uptime_s": self.uptime(), "offset_s": self.offset_s}

    def load(self, state: Json) -> None:
        self._booted = time.monotonic() - float(state["uptime_s"])
        self.offset_s = float(state["offset_s"])
        self._stopped_s = None
