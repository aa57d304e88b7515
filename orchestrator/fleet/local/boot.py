"""Connects to a local device and waits until its phone has booted."""

from __future__ import annotations

import time

from ...device.console import Console
from ...device.faults import DeviceFault
from ...device.phone import Device
from ...device.presence import DeviceGone
from ...device.readiness import Readiness, wait_ready
from ...device.supervisor_client import SupervisorClient
from ...errors import EmufarmError
from .device import DeviceNotStarted, LocalDevice
from .process import shell_exit_code

_ENDING_S = 5.0  # from the supervisor's last answer to its end


def connect(running: LocalDevice) -> Device:
    """DeviceFault where its supervisor does not answer."""
    client = SupervisorClient(running.control_port, running.control_token)
    console = Console(running.console_port, client.facts().console_token)
    return Device(running.serial, running.adb_port, console=console, supervisor=client)


def boot(running: LocalDevice, seconds: float = 60.0) -> tuple[Device, Readiness]:
    """The phone, once it is ready. EmufarmError says what is missing where it is not in time,
    DeviceNotStarted what it printed last where it ended instead."""

    def pause(step: float) -> None:
        time.sleep(step)
        _require_running(running)

    try:
        device = connect(running)
        readiness = wait_ready(device.shell, seconds, pause=pause)
    except (DeviceFault, DeviceGone):
        deadline = time.monotonic() + _ENDING_S
        while time.monotonic() < deadline:
            pause(0.02)
        raise
    if not readiness.ready:
        raise EmufarmError(f"{running.serial} is not ready: {'; '.join(readiness.missing)}")
    return device, readiness


def _require_running(running: LocalDevice) -> None:
    code = running.ended()
    if code is not None:
        raise DeviceNotStarted(
            f"{running.serial} ended while it booted, exit code {shell_exit_code(code)}; it said:\n"
            f"{running.last_output() or '(nothing)'}"
        )
