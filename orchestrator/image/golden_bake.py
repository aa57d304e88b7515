"""Bakes a golden AVD on this machine: boots an empty AVD, sets it up, saves and proves a snapshot.

Only a snapshot from which a phone was seen to start again gets a lock.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import file_sha256
from ..fleet.local.boot import boot
from ..fleet.local.device import Golden, LocalDevice
from ..fleet.local.process import exited_within
from ..pins.image_contents import snapshot_sha256
from ..pins.image_lock import ImageLock
from ..pins.profile import Profile
from ..pins.system_image import hash_system_image
from .bake_steps import BakeFailed as BakeFailed
from .bake_steps import bake_phone, prove_phone

AVD = "emufarm"
KILL_S = 30.0


@dataclass(frozen=True)
class GoldenBaker:
    """The emulator, adb and environment that a bake runs phones with."""

    emulator: Sequence[str]
    adb: Path
    env: Mapping[str, str]
    system_image: Path  # the folder of the emulator's system image
    boot_s: float = 120.0

    def device(self, folder: Path, golden: Golden, *extra: str) -> LocalDevice:
        command = [*self.emulator, *extra]
        return LocalDevice(folder, golden, command, adb=self.adb, env=self.env)


def bake(baker: GoldenBaker, profile: Profile, empty: Path, folder: Path, digest: str) -> ImageLock:
    """Bake the new AVD in `empty`, and move it to `folder`; all other files stay in `empty`."""
    nonce, system = secrets.token_hex(8), hash_system_image(baker.system_image)
    # Without the option, an emulator that is asked to end saves a snapshot of its own.
    with baker.device(empty / "device", Golden(empty, AVD), "-no-snapshot-save") as running:
        device, _ = boot(running, baker.boot_s)
        baked = bake_phone(device, profile, nonce, _quiet)
        device.console.kill()
        if running.pid is None or not exited_within(running.pid, KILL_S):
            raise BakeFailed(f"the emulator did not end within {KILL_S:g} s of its console's kill")
    shutil.move(empty / "device" / "avd", folder)
    avd = folder / f"{AVD}.avd"
    for held in avd.glob("*.lock"):
        held.unlink()
    lock = ImageLock(
        digest=digest,
        profile=profile.name,
        profile_digest=profile.digest,
        avd=AVD,
        snapshot=profile.snapshot,
        boot_id=baked.boot_id,
        nonce=baked.nonce,
        fingerprint=baked.fingerprint,
        emulator_version=baked.emulator_version,
        adb_version=baked.adb_version,
        system_image=system,
        config_ini=(avd / "config.ini").read_text("utf-8"),
        config_sha256=file_sha256(avd / "config.ini"),
        snapshot_sha256=snapshot_sha256(avd / "snapshots" / profile.snapshot),
        baked_ts_ms=time.time_ns() // 1_000_000,
    )
    with baker.device(empty / "proof", Golden(folder, AVD, lock.snapshot)) as running:
        device, _ = boot(running, baker.boot_s)
        prove_phone(device, lock, _quiet)
    return lock


def _quiet(line: str) -> None:
    """The caller announces the bake; its steps take seconds and are not reported."""
