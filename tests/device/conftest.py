"""A device whose adb server and console are the fakes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.device import Device
from orchestrator.device.console import Console
from tests.device.fakes import SERIAL, FakeAdb, FakeConsole


@pytest.fixture
def adb() -> Iterator[FakeAdb]:
    with FakeAdb() as fake:
        yield fake


@pytest.fixture
def fake_console() -> Iterator[FakeConsole]:
    with FakeConsole() as fake:
        yield fake


@pytest.fixture
def console(fake_console: FakeConsole) -> Console:
    return Console(fake_console.port, fake_console.token)


@pytest.fixture
def device(adb: FakeAdb, console: Console) -> Device:
    return Device(SERIAL, adb.port, console=console)
