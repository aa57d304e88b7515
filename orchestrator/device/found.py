"""What does a device say of the pins that its image's lock names?"""

from __future__ import annotations

from .phone import Device


def found(device: Device, fingerprint: str | None = None) -> dict[str, str | None]:
    """By pin, as pins/mismatch.py names them. The phone's own answer is given, for it is asked with
    its other proofs; the rest is the supervisor's word, where there is one. DeviceFault where it
    does not answer."""
    told: dict[str, str | None] = {} if fingerprint is None else {"fingerprint": fingerprint}
    if device.supervisor is not None:
        facts = device.supervisor.facts()
        told |= {
            "emulator_version": facts.emulator_version,
            "adb_version": facts.adb_version,
            "avd": facts.avd,
            "config_ini": facts.config_ini,
            "snapshot": facts.snapshot,
            "snapshot_sha256": facts.snapshot_sha256,
        }
    return told
