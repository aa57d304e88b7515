"""A phone as a user has it: its own processes, its own adb server, the real adb."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.device.phone import Device
from orchestrator.farm.phones import boot, simulated_phone
from orchestrator.fleet.local.device import LocalDevice

CLEAN = "clean"
PATIENCE_S = 120


@dataclass(frozen=True)
class Phone:
    """One booted phone, by the device room and by the adb binary."""

    running: LocalDevice
    device: Device
    env: dict[str, str] = field(default_factory=dict)

    def adb(self, *words: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(adb_binary()), *words],
            env=self.env,
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def out(self, *words: str) -> str:
        """What adb prints, where it succeeds."""
        done = self.adb(*words)
        assert done.returncode == 0, (words, done.stdout[-400:], done.stderr[-400:])
        return done.stdout.decode()


def phone_of(running: LocalDevice) -> Phone:
    device, _ = boot(running)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(running.home),
        "ANDROID_ADB_SERVER_PORT": str(running.adb_port),
        "ANDROID_SERIAL": running.serial,
    }
    return Phone(running, device, env)


@pytest.fixture(scope="session")
def booted() -> Iterator[Phone]:
    with simulated_phone() as running:
        phone = phone_of(running)
        phone.device.snapshots.save(CLEAN)
        yield phone


@pytest.fixture
def phone(booted: Phone) -> Iterator[Phone]:
    """The worker's phone, as it was baked, whatever the last test did to it."""
    yield booted
    booted.device.snapshots.load(CLEAN)
