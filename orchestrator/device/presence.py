"""Listens to a device's supervisor while anything waits for the device.

Every deadline of a device carries its Presence (deadline.py), so whoever waits for adb or the
console, in one call or in many, hears of the end within LISTEN_S and is given up at once.
"""

from __future__ import annotations

import time

from ..errors import EmufarmError
from .faults import REASONS, DeviceFault
from .supervisor_client import SupervisorClient

LISTEN_S = 0.5  # between two questions to the supervisor
ANSWER_S = 2.0  # for its answer
UNANSWERED_S = 30.0  # in which one that listens and never answers is taken for gone


class DeviceGone(EmufarmError):
    """The device has ended, hangs, or has lost its supervisor, and no call to it can succeed.

    It is no DeviceFault: nothing repeats it, or takes it for one condition that is still missing.
    """

    def __init__(self, text: str, reason: str = "device_ended", *, hung: str = "") -> None:
        super().__init__(text)
        assert reason in REASONS, reason
        self.reason = reason
        self.hung = hung  # how the supervisor saw it hang


class Presence:
    """Whether the device is still there, as far as its supervisor knows."""

    def __init__(self, supervisor: SupervisorClient | None) -> None:
        self._supervisor = supervisor
        self._next = 0.0
        self._answered: float | None = None

    def require(self) -> None:
        """Raises DeviceGone if the device is gone; asks at most every LISTEN_S."""
        now = time.monotonic()
        if self._supervisor is None or now < self._next:
            return
        try:
            health = self._supervisor.health(ANSWER_S)
        except DeviceFault as fault:
            self._unanswered(fault, now)
        else:
            self._answered = time.monotonic()
            if health.state == "ended":
                raise DeviceGone("the emulator has ended, its supervisor says")
            if health.hung:
                raise DeviceGone(
                    f"the emulator hangs: {health.hung}", "device_hung", hung=health.hung
                )
        self._next = time.monotonic() + LISTEN_S

    def _unanswered(self, fault: DeviceFault, now: float) -> None:
        if fault.reason == "supervisor_gone":
            raise DeviceGone(f"the supervisor is gone: {fault.text}", fault.reason) from fault
        if self._answered is None:
            self._answered = now
        if now - self._answered > UNANSWERED_S:
            text = f"the supervisor has not answered for {UNANSWERED_S:g} s: {fault.text}"
            raise DeviceGone(text, "supervisor_gone") from fault
