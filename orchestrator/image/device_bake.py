"""Bakes and proves the phone whose supervisor listens here; runs beside its container."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..device.attach import attach, wait_booted
from ..device.phone import Device
from ..events.notify import Notify
from ..files import read_secret
from ..pins.host import host_facts
from ..pins.image_lock import ImageLock, read_lock
from ..pins.profile import load_profile
from .bake_steps import bake_phone, prove_phone


@dataclass(frozen=True)
class SupervisedPhone:
    """Where a phone's supervisor listens, and how long the phone may take to boot."""

    control_port: int
    token_file: Path
    boot_s: float

    def booted(self, notify: Notify) -> Device:
        token = read_secret(self.token_file)
        return wait_booted(
            attach(self.control_port, token, self.boot_s, notify), self.boot_s, notify
        )


def bake_supervised(
    phone: SupervisedPhone,
    profile: str,
    apks: Path,
    report: Callable[[dict[str, Any]], None],
    notify: Notify,
) -> None:
    """Set a cold-booted phone up, save its snapshots, report what a lock needs, switch it off.

    The report comes first, because a phone may hang when it is switched off.
    """
    wanted = load_profile(profile)
    apk_files = {apk.package: apks / f"{apk.package}.apk" for apk in wanted.apks}
    device = phone.booted(notify)
    baked = bake_phone(device, wanted, secrets.token_hex(8), notify, apk_files)
    cpu = host_facts()["cpu"]["model"]
    report({**asdict(baked), "host_cpu": cpu if isinstance(cpu, str) else f"unknown: {cpu['why']}"})
    notify("switching the phone off")
    device.console.kill()


def prove_supervised(phone: SupervisedPhone, lock: Path, notify: Notify) -> ImageLock:
    """Prove that a phone which was started from its snapshot is the one in the lock."""
    held = read_lock(lock)
    prove_phone(phone.booted(notify), held, notify)
    return held
