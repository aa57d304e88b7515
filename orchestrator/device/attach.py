"""How is the phone reached whose supervisor stands in our own network namespace?

In containers nobody waits for the supervisor's first line: it is asked until it answers, and until
it has told what takes it a while to learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .console import Console
from .deadline import Deadline
from .faults import DeviceFault
from .phone import Device
from .readiness import wait_ready
from .supervisor_client import Facts, SupervisorClient

_LOOK_S = 0.1
_SAY_S = 5.0  # between two lines about what is still missing

Say = Callable[[str], None]


def attach(port: int, token: str, seconds: float, say: Say) -> Device:
    """The phone, not yet ready; DeviceFault where its supervisor does not answer in time."""
    supervisor = SupervisorClient(port, token)
    facts = _facts(supervisor, Deadline(seconds), Patience(say))
    console = Console(facts.console_port, facts.console_token)
    return Device(facts.serial, facts.adb_server_port, console=console, supervisor=supervisor)


def wait_booted(device: Device, seconds: float, say: Say) -> Device:
    """The same, once it is ready; DeviceFault says what is missing where it is not in time."""
    patience = Patience(say)

    def pause(step: float) -> None:
        patience.waited("the phone boots")
        # Its end would else show only as a phone that never gets ready.
        if device.supervisor is not None and device.supervisor.facts().state == "ended":
            raise DeviceFault("supervisor", "the emulator ended while it booted", during="boot")
        time.sleep(step)

    readiness = wait_ready(device.shell, seconds, pause=pause)
    if not readiness.ready:
        text = f"{seconds:g} s after its start: {'; '.join(readiness.missing)}"
        raise DeviceFault("not_ready", text)
    return device


def _facts(supervisor: SupervisorClient, deadline: Deadline, patience: Patience) -> Facts:
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
        patience.waited(f"waiting for the device: {text}")
        time.sleep(_LOOK_S)


class Patience:
    """Says what is waited for, now and then."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._since = self._said = time.monotonic()

    def waited(self, what: str) -> None:
        now = time.monotonic()
        if now - self._said >= _SAY_S:
            self._said = now
            self._say(f"{what} ({now - self._since:.0f} s)")
