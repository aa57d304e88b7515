"""Attaches to the phone whose supervisor listens in our network namespace, and waits for its boot.

In a container the supervisor's first line is not read. It is polled until it answers and until it
reports the facts that take a while to learn.
"""

from __future__ import annotations

import time

from ..events.notify import Notify
from .console import Console
from .deadline import Deadline
from .faults import DeviceFault
from .phone import Device
from .readiness import wait_ready
from .supervisor_client import SupervisorClient, SupervisorFacts

_POLL_S = 0.1
_NOTIFY_S = 5.0  # between two lines about what is still missing


def attach(port: int, token: str, seconds: float, notify: Notify) -> Device:
    """The phone, not yet ready. DeviceFault if its supervisor does not answer in time."""
    supervisor = SupervisorClient(port, token)
    facts = _facts(supervisor, Deadline(seconds), _WaitNotifier(notify))
    console = Console(facts.console_port, facts.console_token)
    return Device(facts.serial, facts.adb_server_port, console=console, supervisor=supervisor)


def wait_booted(device: Device, seconds: float, notify: Notify) -> Device:
    """Returns the device once it is ready. DeviceFault lists what is missing after the time-out;
    DeviceGone says that the emulator has ended."""
    notifier = _WaitNotifier(notify)

    def pause(step: float) -> None:
        notifier.waiting("the phone boots")
        time.sleep(step)

    wait_ready(device.shell, seconds, pause=pause).require(f"{seconds:g} s after its start: ")
    return device


def _facts(
    supervisor: SupervisorClient, deadline: Deadline, notifier: _WaitNotifier
) -> SupervisorFacts:
    while True:
        try:
            facts = supervisor.facts()
            if facts.known:
                return facts
            text = f"the supervisor is {facts.state}"
        except DeviceFault as fault:
            text = str(fault)
        if deadline.passed:
            raise DeviceFault("supervisor", f"{deadline.seconds:g} s passed: {text}")
        notifier.waiting(f"waiting for the device: {text}")
        time.sleep(_POLL_S)


class _WaitNotifier:
    """Reports at intervals what is being waited for."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._started = self._notified = time.monotonic()

    def waiting(self, what: str) -> None:
        now = time.monotonic()
        if now - self._notified >= _NOTIFY_S:
            self._notified = now
            self._notify(f"{what} ({now - self._started:.0f} s)")
