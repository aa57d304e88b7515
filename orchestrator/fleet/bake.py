"""How does an empty AVD become a phone that every attempt can start from?

Boot, set up, wait until it stands still, leave a marker, save; then start from what was saved and
see that it is the same phone. What was not seen to work gets no lock.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..device.deadline import Deadline
from ..device.phone import Device
from ..errors import EmufarmError
from ..pins.files import file_sha256, tree_sha256
from ..pins.lock import MARKER, ImageLock, marker
from ..pins.profile import Profile
from .exits import exited_within
from .local import Golden, LocalDevice
from .reach import boot

AVD = "emufarm"
NAMESPACES = ("system", "secure", "global")
REST_LIMIT_S = 120.0  # beyond the rest itself, before a restless phone is a failure
KILL_S = 30.0
_LOOK_S = 0.1


class BakeFailed(EmufarmError):
    """The image could not be made, or does not start as it was saved."""


@dataclass(frozen=True)
class Oven:
    """What phones are run with while an image is made."""

    emulator: Sequence[str]
    adb: Path
    env: Mapping[str, str]
    boot_s: float = 120.0

    def device(self, folder: Path, golden: Golden, *extra: str) -> LocalDevice:
        command = [*self.emulator, *extra]
        return LocalDevice(folder, golden, command, adb=self.adb, env=self.env)


def bake(oven: Oven, profile: Profile, empty: Path, folder: Path, digest: str) -> ImageLock:
    """Leaves the AVD in `folder`; `empty` holds a fresh one, and everything else goes there."""
    nonce = secrets.token_hex(8)
    # An emulator told to end would else save a snapshot of its own beside ours.
    with oven.device(empty / "device", Golden(empty, AVD), "-no-snapshot-save") as running:
        device, _ = boot(running, oven.boot_s)
        _set_up(device, profile)
        _rest(device, profile.bake.rest_s)
        _require_set_up(device, profile)
        text = marker(profile.snapshot, nonce)
        device.files.push(text.encode(), MARKER)
        device.snapshots.save(profile.snapshot)
        boot_id, identity = device.clock.boot_id(), device.identity()
        device.console.kill()
        if running.pid is None or not exited_within(running.pid, KILL_S):
            raise BakeFailed(f"the emulator did not end within {KILL_S:g} s of its console's kill")
    shutil.move(empty / "device" / "avd", folder)
    avd = folder / f"{AVD}.avd"
    for held in avd.glob("*.lock"):
        held.unlink()
    snapshot = avd / "snapshots" / profile.snapshot
    lock = ImageLock(
        digest=digest,
        profile=profile.name,
        profile_digest=profile.digest,
        avd=AVD,
        snapshot=profile.snapshot,
        boot_id=boot_id,
        nonce=nonce,
        fingerprint=identity.fingerprint,
        emulator_version=identity.emulator_version,
        config_ini=(avd / "config.ini").read_text("utf-8"),
        config_sha256=file_sha256(avd / "config.ini"),
        snapshot_sha256=tree_sha256(snapshot, lambda name: name != "snapshot.pb"),
        baked_ts_ms=time.time_ns() // 1_000_000,
    )
    _prove(oven, lock, folder, empty / "proof")
    return lock


def _set_up(device: Device, profile: Profile) -> None:
    for namespace, values in profile.bake.settings.items():
        for key, value in values.items():
            device.settings.put(namespace, key, value)


def _require_set_up(device: Device, profile: Profile) -> None:
    """Whatever else wrote settings while the phone came to rest."""
    for namespace, values in profile.bake.settings.items():
        for key, value in values.items():
            if (now := device.settings.get(namespace, key)) != value:
                raise BakeFailed(f"{namespace} {key} is {now}, though it was set to {value}")


def _rest(device: Device, seconds: float) -> None:
    """Until nothing has moved for so long: an emulator writes settings of its own after a boot."""
    deadline = Deadline(seconds + REST_LIMIT_S)
    state, since = _state(device), time.monotonic()
    while time.monotonic() - since < seconds:
        if deadline.passed:
            raise BakeFailed(f"the phone never stood still for {seconds:g} s")
        time.sleep(min(_LOOK_S, seconds))
        now = _state(device)
        if now != state:
            state, since = now, time.monotonic()


def _state(device: Device) -> tuple[object, ...]:
    return (
        device.foreground(),
        *(device.shell.answer("settings", "list", namespace) for namespace in NAMESPACES),
    )


def _prove(oven: Oven, lock: ImageLock, home: Path, folder: Path) -> None:
    """A phone started from the snapshot, and one loaded back into it, are the phone that was."""
    with oven.device(folder, Golden(home, lock.avd, lock.snapshot)) as running:
        device, _ = boot(running, oven.boot_s)
        started = (device.clock.boot_id(), device.files.read(MARKER).decode("utf-8", "replace"))
        if started != (lock.boot_id, lock.marker):
            raise BakeFailed(f"a phone started from {lock.snapshot} is another one: {started}")
        proof = device.snapshots.load(lock.snapshot, marker=MARKER)
        loaded = (proof.boot_id, proof.marker, proof.fingerprint)
        if loaded != (lock.boot_id, lock.marker, lock.fingerprint):
            raise BakeFailed(f"a load of {lock.snapshot} leads to another phone: {loaded}")
