"""Has the phone a new connection to the adb server, and how does it get one?"""

from __future__ import annotations

import time

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
    """The number of a connection that is not `old` and is up; `emulator` is the phone's adb port.

    The old connection may still look alive for a while after it was dropped.
    """
    step = 0.01
    last = DeviceFault("device_not_found", "never asked")
    while not deadline.passed:
        try:
            number = adb_socket.transport_id(timeout=deadline.share(5))
            if number != old and adb_socket.state(timeout=deadline.share(5)) == "device":
                return number
            last = DeviceFault("device_offline", f"still transport {number}")
        except DeviceFault as fault:
            last = fault
            if fault.reason == "device_not_found" and emulator is not None:
                _announce(adb_socket, emulator)
        pause(step)
        step = min(step * 1.5, 0.5)
    raise DeviceFault(last.reason, f"no new connection in {deadline.seconds:g} s: {last.text}")


def renew(adb_socket: AdbSocket, emulator: int | None) -> int:
    """Drop the phone's connection once and wait for the next; its number."""
    try:
        old = adb_socket.transport_id()
    except DeviceFault:
        old = None  # offline or unknown: any connection will be a new one
    try:
        adb_socket.reconnect()
    except DeviceFault as fault:
        if fault.reason != "device_not_found":  # nothing to drop; being told of it may bring it
            raise
    return new_transport(adb_socket, old, emulator, Deadline(RENEWAL_SECONDS))


def _announce(adb_socket: AdbSocket, emulator: int) -> None:
    """A shortcut only, since the server redials by itself each second; whoever waits sees what
    comes of it."""
    try:
        adb_socket.announce(emulator)
    except DeviceFault:
        return
