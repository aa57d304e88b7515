"""Back to the snapshot, and proof of it: a gate, never a warning.

The ladder: reconnect, load, load again, restart the emulator from its golden copy, once more.
Every rung and every part of the proof is a `reset` event; an attempt goes on only where the last
one is proven. A device that is not the one its lock names ends it at once: no rung cures a pin.
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
    """No rung of the ladder led back to the snapshot."""


class PinMismatch(Exception):
    """This is not the device that the image's lock names; both values of each pin are told."""


def reset(
    device: Device, lock: ImageLock, bundle: Bundle, seconds: float, check: Callable[[], None]
) -> None:
    """Returns where the reset is proven; else NotProven with what each rung saw, or PinMismatch.

    `check` is asked before each rung and may raise.
    """
    said: list[str] = []
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
        said.append(f"{rung}: {'; '.join(wrong)}")
    raise NotProven("; ".join(said))


def require_pins(device: Device, lock: ImageLock, bundle: Bundle, proof: LoadProof | None) -> None:
    """Also after a load that failed: another device than the lock's may be why."""
    if proof is None and not (device.supervisor and device.supervisor.healthy()):
        return  # there is nothing to compare; how the emulator ended is asked later, and once
    told = device.observed_pins(proof.fingerprint if proof else None)
    wrong = mismatches(lock, told)
    bundle.event("device_trace", "pins", pins=compared_pins(lock, told), wrong=wrong)
    if wrong:
        raise PinMismatch("; ".join(wrong))


def restart(device: Device, lock: ImageLock, seconds: float) -> LoadProof:
    """A new emulator process, started from the snapshot of a fresh copy."""
    assert device.supervisor is not None
    device.supervisor.restart()
    readiness = device.wait_ready(seconds)
    if not readiness.ready:
        raise DeviceFault("not_ready", "; ".join(readiness.missing), during="restart")
    return device.snapshots.load(lock.snapshot, marker=MARKER, seconds=seconds)


def differences(proof: LoadProof, lock: ImageLock) -> list[str]:
    """What the observed phone is not, though the lock says it is."""
    wrong = []
    if not (proof.file_gone and proof.property_gone):
        # The phone did not take them, or did not answer; now that it does, the next load can tell.
        wrong.append("no sentinels could be planted before the load")
    if proof.boot_id != lock.boot_id:
        wrong.append(f"boot_id is {proof.boot_id}, baked was {lock.boot_id}")
    if proof.marker != lock.marker:
        wrong.append(f"the baked marker reads {proof.marker!r}, not {lock.marker!r}")
    if proof.frame.uniform:
        wrong.append("the screen shows one colour only")
    return wrong


def _reconnect(device: Device, bundle: Bundle) -> None:
    """Rung 1, where adb has lost the phone. If it does not help, the next rung may."""
    try:
        device.adb_socket.shell("true", timeout=5)
    except DeviceFault as lost:
        outcome = "reconnected"
        try:
            device.reconnect()
        except DeviceFault as fault:
            outcome = str(fault)
        bundle.event("device_trace", "reconnect", why=str(lost), outcome=outcome)
