"""Resets the phone to its snapshot, with proof: loads it again, then restarts the emulator.

The recovery ladder: reconnect, load, load again, restart the emulator from its golden copy, restart
again. Every rung and every part of the proof is a `reset` event; an attempt continues only if the
last one is proven. A device that differs from its lock ends the attempt at once, since no rung
changes a pin.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict

from ..device.console import load_command
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..device.snapshot import LoadProof
from ..evidence.bundle import Bundle
from ..pins.image_lock import MARKER, ImageLock
from ..pins.mismatch import compared_pins, mismatches

LOADS, RESTARTS = 2, 2


class NotProven(Exception):
    """No rung of the ladder restored the snapshot."""


class PinMismatch(Exception):
    """The device is not the one that the lock names; the text has both values of each pin."""


def reset(
    device: Device, lock: ImageLock, bundle: Bundle, seconds: float, check: Callable[[], None]
) -> None:
    """Returns once the reset is proven; otherwise raises NotProven with the result of each rung,
    or PinMismatch. `check` is called before each rung and may raise."""
    failures: list[str] = []
    rungs: list[tuple[str, Callable[[], LoadProof]]] = [
        ("load", lambda: device.snapshots.load(lock.snapshot, marker=MARKER, seconds=seconds))
    ] * LOADS
    if device.supervisor is not None:
        rungs += [("restart", lambda: restart(device, lock, seconds))] * RESTARTS
    for rung, climb in rungs:
        check()
        _reconnect(device, bundle)
        started, proof = time.monotonic(), None
        try:
            proof = climb()
            wrong = differences(proof, lock)
        except DeviceFault as fault:
            wrong = [str(fault)]
        fields = asdict(proof) if proof else {"command": load_command(lock.snapshot)}
        bundle.event(
            "device_trace", "reset", rung=rung, snapshot_tag=lock.snapshot, proven=not wrong,
            wrong=wrong, duration_ms=round((time.monotonic() - started) * 1000), **fields,
        )  # fmt: skip
        require_pins(device, lock, bundle, proof)
        if not wrong:
            return
        failures.append(f"{rung}: {'; '.join(wrong)}")
    raise NotProven("; ".join(failures))


def require_pins(device: Device, lock: ImageLock, bundle: Bundle, proof: LoadProof | None) -> None:
    """Compares the pins, also after a failed load, of which a wrong device may be the cause."""
    if proof is None and not (device.supervisor and device.supervisor.healthy()):
        return  # nothing to compare; the emulator's end is queried later, and once
    pins = device.observed_pins(proof.fingerprint if proof else None)
    wrong = mismatches(lock, pins)
    bundle.event("device_trace", "pins", pins=compared_pins(lock, pins), wrong=wrong)
    if wrong:
        raise PinMismatch("; ".join(wrong))


def restart(device: Device, lock: ImageLock, seconds: float) -> LoadProof:
    """Restarts the emulator from a fresh copy of its AVD and loads the snapshot."""
    assert device.supervisor is not None
    device.supervisor.restart()
    device.wait_ready(seconds).require(during="restart")
    return device.snapshots.load(lock.snapshot, marker=MARKER, seconds=seconds)


def differences(proof: LoadProof, lock: ImageLock) -> list[str]:
    """The ways in which the observed phone differs from the lock."""
    wrong = []
    if not (proof.file_gone and proof.property_gone):
        # The phone refused them or did not answer; now that it answers, the next load can prove it.
        wrong.append("no sentinels could be planted before the load")
    if proof.boot_id != lock.boot_id:
        wrong.append(f"boot_id is {proof.boot_id}, baked was {lock.boot_id}")
    if proof.marker != lock.marker:
        wrong.append(f"the baked marker reads {proof.marker!r}, not {lock.marker!r}")
    if proof.frame.uniform:
        wrong.append("the screen shows one colour only")
    return wrong


def _reconnect(device: Device, bundle: Bundle) -> None:
    """Rung 1, for a phone that adb has lost. If it does not help, the next rung may."""
    try:
        device.adb_socket.shell("true", timeout=5)
    except DeviceFault as lost:
        outcome = "reconnected"
        try:
            device.reconnect()
        except DeviceFault as fault:
            outcome = str(fault)
        bundle.event("device_trace", "reconnect", why=str(lost), outcome=outcome)
