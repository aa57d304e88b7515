"""The steps of a bake on a booted phone: set up, install APKs, rest, save; then load and prove.

They need a reachable Device only, so they are the same for a process here and for a container.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..device.deadline import Deadline
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..episode.reset import differences
from ..errors import EmufarmError
from ..events.notify import Notify
from ..pins.image_lock import MARKER, ImageLock, marker_text
from ..pins.mismatch import mismatches
from ..pins.profile import Apk, BakeStep, Profile

NAMESPACES = ("system", "secure", "global")
REST_LIMIT_S = 120.0  # beyond the rest itself, before a phone that keeps changing is a failure
STEP_S = 30.0  # until a step's query has the wanted answer
_POLL_S = 0.1


class BakeFailed(EmufarmError):
    """The image could not be made, or does not start as it was saved."""


@dataclass(frozen=True)
class BakedPhone:
    """The part of a lock that describes the phone."""

    boot_id: str
    nonce: str
    fingerprint: str
    emulator_version: str | None
    adb_version: str


def bake_phone(
    device: Device,
    profile: Profile,
    nonce: str,
    notify: Notify,
    apks: Mapping[str, Path] | None = None,
) -> BakedPhone:
    """Set a booted phone up and save each snapshot. `apks` are the profile's files, by package."""
    notify(f"setting up {device.serial}")
    for namespace, values in profile.bake.settings.items():
        for key, value in values.items():
            device.settings.put(namespace, key, value)
    for apk in profile.apks:
        path = (apks or {}).get(apk.package)
        if path is None:
            raise BakeFailed(f"{apk.package} is in the profile, and its file was not given")
        notify(f"installing {apk.package} {apk.version}")
        _install(device, apk, path)
    for snapshot in profile.baked:
        for step in snapshot.setup:
            notify(f"setting up {snapshot.tag}: {step.run}")
            _run_step(device, step)
        notify(f"waiting until the phone has stood still for {profile.bake.rest_s:g} s")
        _rest(device, profile.bake.rest_s)
        _require_set_up(device, profile)
        device.files.push(marker_text(snapshot.tag, nonce).encode(), MARKER)
        notify(f"saving {snapshot.tag}")
        device.snapshots.save(snapshot.tag)
    identity = device.identity()
    # Of the adb in the image, which the supervisor runs; ours may be another.
    adb = device.supervisor.facts().adb_version if device.supervisor else None
    return BakedPhone(
        boot_id=device.clock.boot_id(),
        nonce=nonce,
        fingerprint=identity.fingerprint,
        emulator_version=identity.emulator_version,
        adb_version=adb or identity.adb_version,
    )


def prove_phone(device: Device, lock: ImageLock, notify: Notify) -> None:
    """Check that a phone started from the snapshot is the one that was saved, also after a load of
    each snapshot. BakeFailed says what differs."""
    started = (device.clock.boot_id(), device.files.read(MARKER).decode("utf-8", "replace"))
    if started != (lock.boot_id, lock.marker):
        raise BakeFailed(f"a phone started from {lock.snapshot} is a different phone: {started}")
    others = {*(lock.container.snapshots if lock.container else ())} - {lock.snapshot}
    for tag in (*sorted(others), lock.snapshot):
        notify(f"loading {tag} and proving it")
        try:
            proof = device.snapshots.load(tag, marker=MARKER)
            observed = device.observed_pins(proof.fingerprint)
        except DeviceFault as fault:
            raise BakeFailed(f"{tag} does not load: {fault}") from fault
        wrong = differences(proof, replace(lock, snapshot=tag)) + mismatches(lock, observed)
        if wrong:
            raise BakeFailed(f"a load of {tag} gives a different phone: {'; '.join(wrong)}")


def _install(device: Device, apk: Apk, path: Path) -> None:
    device.packages.install(path)
    for permission in apk.grants:
        device.packages.grant(apk.package, permission)
    if (version := device.packages.version(apk.package).name) != apk.version:
        raise BakeFailed(f"{apk.package} is version {version}, the profile says {apk.version}")


def _run_step(device: Device, step: BakeStep) -> None:
    """Run the step and poll its query, because effects on a phone are eventual."""
    device.shell.do("sh", "-c", step.run)
    deadline, answer = Deadline(STEP_S), ""
    while True:
        answer = device.shell.query("sh", "-c", step.ask).text.strip()
        if answer == step.want:
            return
        if deadline.passed:
            raise BakeFailed(f"after {step.run!r}, {step.ask!r} says {answer!r}, not {step.want!r}")
        time.sleep(_POLL_S)


def _require_set_up(device: Device, profile: Profile) -> None:
    """BakeFailed where something else wrote a setting while the phone came to rest."""
    for namespace, values in profile.bake.settings.items():
        for key, value in values.items():
            if (now := device.settings.get(namespace, key)) != value:
                raise BakeFailed(f"{namespace} {key} is {now}, though it was set to {value}")


def _rest(device: Device, seconds: float) -> None:
    """Wait until nothing has changed for this time: an emulator writes settings after a boot."""
    deadline = Deadline(seconds + REST_LIMIT_S)
    state, since = _state(device), time.monotonic()
    while time.monotonic() - since < seconds:
        if deadline.passed:
            raise BakeFailed(f"the phone never stood still for {seconds:g} s")
        time.sleep(min(_POLL_S, seconds))
        now = _state(device)
        if now != state:
            state, since = now, time.monotonic()


def _state(device: Device) -> tuple[object, ...]:
    return (
        device.foreground(),
        *(device.shell.answer("settings", "list", namespace) for namespace in NAMESPACES),
    )
