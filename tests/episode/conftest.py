"""Booted phones for the session: one that is reset before each test, one to play attempts on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.farm.simulated_phone import simulator
from orchestrator.fleet.local.boot import boot
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.image.golden_cache import GoldenImage
from tests.episode.stage import Stage
from tests.image.golden_fixtures import image, recipe
from tests.whole.conftest import booted, phone

__all__ = ["booted", "image", "phone", "recipe", "stage", "stages_phone"]


@pytest.fixture(scope="session")
def stages_phone(
    image: GoldenImage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalDevice]:
    folder = tmp_path_factory.mktemp("device")
    with LocalDevice(
        folder, image.golden, simulator(), adb=adb_binary(), env=dict(os.environ)
    ) as running:
        yield running


@pytest.fixture
def stage(stages_phone: LocalDevice, image: GoldenImage, tmp_path: Path) -> Stage:
    device, _ = boot(stages_phone)
    return Stage(device, image.lock, tmp_path)
