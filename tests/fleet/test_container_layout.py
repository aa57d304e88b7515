"""The programs in the device image use the paths and ports that the backends use."""

from __future__ import annotations

from orchestrator.device.phone import console_port
from orchestrator.fleet import container_layout as layout
from tests.images.scripts import load


def test_the_image_and_the_backends_agree() -> None:
    start, health = load("start"), load("health")
    assert start.CONTROL_PORT == health.CONTROL_PORT == layout.CONTROL_PORT
    assert health.ADB_PORT == start.ADB_PORT
    assert console_port(health.SERIAL) == start.CONSOLE_PORT
    assert str(start.TOKEN) == f"{layout.GIVEN_FOLDER}/{layout.CONTROL_TOKEN}"
    assert str(start.PLACE) == layout.DEVICE_DISK
