"""A phone as a user has it, with its own processes and adb server, and the real adb."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from orchestrator.device.phone import Device
from orchestrator.farm.simulated_phone import boot, simulated_phone
from orchestrator.fleet.local.device import LocalDevice

CLEAN = "clean"


@dataclass(frozen=True)
class Phone:
    """One booted phone with its supervisor."""

    running: LocalDevice
    device: Device


@pytest.fixture(scope="session")
def booted() -> Iterator[Phone]:
    with simulated_phone() as running:
        device, _ = boot(running)
        device.snapshots.save(CLEAN)
        yield Phone(running, device)


@pytest.fixture
def phone(booted: Phone) -> Iterator[Phone]:
    """The worker's phone, as it was baked, whatever the last test did to it."""
    yield booted
    booted.device.snapshots.load(CLEAN)
