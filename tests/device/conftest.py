"""A device whose adb server and console are the fakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from orchestrator.device.console import Console
from orchestrator.device.phone import Device
from tests.device.fakes import SERIAL, FakeAdb, FakeConsole, answer

FOCUSED = answer("  mCurrentFocus=Window{1 u0 com.x/com.x.Main}\n")
BOOT_ID = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass
class Hands:
    """The hands of a clock that only the test moves."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    """Every deadline of the farm is on this clock: a slow machine uses up no time."""
    stopped = Hands()
    clock = SimpleNamespace(monotonic=stopped.monotonic)
    monkeypatch.setattr("orchestrator.device.deadline.time", clock)
    return stopped


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


@pytest.fixture
def booted(adb: FakeAdb) -> FakeAdb:
    """A phone on which every condition holds."""
    adb.shell("getprop sys.boot_completed", answer("1\n"))
    adb.shell("getprop init.svc.bootanim", answer("stopped\n"))
    adb.shell("pm path android", answer("package:/system/framework/framework-res.apk\n"))
    adb.shell("service check input", answer("Service input: found\n"))
    adb.shell("dumpsys window", FOCUSED)
    adb.shell("cat /proc/sys/kernel/random/boot_id", answer(f"{BOOT_ID}\n"))
    return adb
