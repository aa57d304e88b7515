"""How does the device room get hold of a phone that a backend started on this machine?"""

from __future__ import annotations

import time

from ...device.console import Console
from ...device.faults import DeviceFault
from ...device.phone import Device
from ...device.readiness import Readiness, wait_ready
from ...device.supervisor_client import SupervisorClient
from ...errors import EmufarmError
from .device import DeviceNotStarted, LocalDevice
from .exits import as_shell
from .last_words import last_words

_ENDING_S = 5.0  # from the supervisor's last answer to its end


def reach(running: LocalDevice) -> Device:
    client = SupervisorClient(running.control_port, running.token_file.read_text().strip())
    console = Console(running.console_port, client.facts().console_token)
    return Device(running.serial, running.adb_port, console=console, supervisor=client)


def boot(running: LocalDevice, seconds: float = 60.0) -> tuple[Device, Readiness]:
    """Waits until the phone is ready; says what is missing where it is not, and what it said
    itself where it ended instead."""

    def pause(step: float) -> None:
        time.sleep(step)
        _must_run(running)

    try:
        device = reach(running)
    except DeviceFault:
        deadline = time.monotonic() + _ENDING_S
        while time.monotonic() < deadline:
            pause(0.02)
        raise
    readiness = wait_ready(device.shell, seconds, pause=pause)
    if not readiness.ready:
        raise EmufarmError(f"{running.serial} is not ready: {'; '.join(readiness.missing)}")
    return device, readiness


def _must_run(running: LocalDevice) -> None:
    code = running.ended()
    if code is not None:
        raise DeviceNotStarted(
            f"{running.serial} ended while it booted, exit code {as_shell(code)}; it said:\n"
            f"{last_words(running) or '(nothing)'}"
        )
