"""Renews the phone's connection to the adb server and waits for the new one."""

from __future__ import annotations

import time
from contextlib import suppress

from .adb_socket import AdbSocket
from .deadline import Deadline
from .faults import DeviceFault
from .readiness import Pause

RENEWAL_SECONDS = 5.0


def new_transport(
    adb_socket: AdbSocket,
    old: int | None,
    emulator: int | None,
    deadline: Deadline,
    pause: Pause = time.sleep,
) -> int:
    """Waits for a connection other than `old` that is up, and returns its number.

    `emulator` is the phone's adb port. The old connection may look alive for a while after it was
    dropped.
    """
    step = 0.01
    last = DeviceFault("device_not_found", "not asked yet")
    while not deadline.passed:
        try:
            number = adb_socket.transport_id(timeout=deadline.share(5))
            if number != old and adb_socket.state(timeout=deadline.share(5)) == "device":
                return number
            last = DeviceFault("device_offline", f"still transport {number}")
        except DeviceFault as fault:
            last = fault
            if fault.reason == "device_not_found" and emulator is not None:
                # Only a shortcut, since the server dials again by itself each second.
                with suppress(DeviceFault):
                    adb_socket.announce(emulator)
        pause(step)
        step = min(step * 1.5, 0.5)
    raise DeviceFault(last.reason, f"no new connection in {deadline.seconds:g} s: {last.text}")


def renew(adb_socket: AdbSocket, emulator: int | None) -> int:
    """Drops the phone's connection once and waits for the next; returns its number."""
    try:
        old = adb_socket.transport_id()
    except DeviceFault:
        old = None  # offline or unknown: any connection is a new one
    try:
        adb_socket.reconnect()
    except DeviceFault as fault:
        if fault.reason != "device_not_found":  # nothing to drop; an announcement may help
            raise
    return new_transport(adb_socket, old, emulator, Deadline(RENEWAL_SECONDS))
