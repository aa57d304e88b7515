"""Whoever waits for a device hears of its end from the supervisor, in every kind of call."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.device.console import Console
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.device.presence import DeviceGone
from orchestrator.device.supervisor_client import SupervisorClient
from tests.device.fakes import SERIAL, FakeAdb, FakeConsole, Listening, fail, hang
from tests.ports import even_port

# Longer than any test may take: no call below ends by its own time-out.
LONG_S = 3600.0


class Telling(Listening):
    """A supervisor that says how its emulator is."""

    def __init__(self) -> None:
        self.health = {"state": "running", "hung": ""}
        self.asked = 0
        super().__init__()

    def __enter__(self) -> Telling:
        return self

    def serve(self, connection: socket.socket) -> None:
        request = connection.recv(4096)
        if not request.startswith(b"GET /healthz "):
            return
        self.asked += 1
        body = json.dumps(self.health).encode()
        status = "200 OK" if self.health["state"] == "running" else "503 Service Unavailable"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + body)


@pytest.fixture
def telling() -> Iterator[Telling]:
    with Telling() as supervisor:
        yield supervisor


@pytest.fixture
def device(adb: FakeAdb, fake_console: FakeConsole, telling: Telling) -> Device:
    """Its adb and its console take what is asked, and never answer."""
    adb.scripts = Endless(hang)
    fake_console.replies = Endless([])
    console = Console(fake_console.port, fake_console.token)
    return Device(
        SERIAL, adb.port, console=console, supervisor=SupervisorClient(telling.port, "secret")
    )


class Endless(dict):  # type: ignore[type-arg]
    """The same for every key."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self._value = value

    def get(self, key: object, default: object = None) -> object:
        return self._value


CALLS: dict[str, Callable[[Device], object]] = {
    "shell": lambda device: device.adb_socket.shell("true", timeout=LONG_S),
    "stdin": lambda device: device.adb_socket.shell("x", stdin=b"x" * 2**24, timeout=LONG_S),
    "exec": lambda device: device.adb_socket.exec_out("true", timeout=LONG_S),
    "query": lambda device: device.shell.query("true", timeout=LONG_S),
    "pull": lambda device: device.adb.read("/sdcard/x", timeout=LONG_S),
    "push": lambda device: device.adb.push(b"x" * 2**24, "/sdcard/x", timeout=LONG_S),
    "console": lambda device: device.console.ask("avd status", timeout=LONG_S),
    "readiness": lambda device: device.wait_ready(LONG_S),
    "load": lambda device: device.snapshots.load("clean", seconds=LONG_S),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_wait_ends_with_the_device(device: Device, telling: Telling, name: str) -> None:
    telling.health = {"state": "ended", "hung": ""}
    with pytest.raises(DeviceGone, match="the emulator has ended"):
        CALLS[name](device)


@pytest.mark.parametrize("name", ["shell", "push", "console"])
def test_a_wait_that_has_begun_ends_too(device: Device, telling: Telling, name: str) -> None:
    """The first answers are that it runs; so the call waits when it ends."""

    def serve(connection: socket.socket) -> None:
        if telling.asked >= 2:
            telling.health = {"state": "ended", "hung": ""}
        Telling.serve(telling, connection)

    telling.serve = serve  # type: ignore[method-assign]
    with pytest.raises(DeviceGone, match="the emulator has ended"):
        CALLS[name](device)
    assert telling.asked >= 3


def test_a_device_that_hangs_is_given_up_with_how(device: Device, telling: Telling) -> None:
    telling.health = {"state": "running", "hung": "the process is stopped"}
    with pytest.raises(DeviceGone) as error:
        device.adb_socket.shell("true", timeout=LONG_S)
    assert (error.value.reason, error.value.hung) == ("device_hung", "the process is stopped")


def test_a_device_without_its_supervisor_is_given_up(adb: FakeAdb) -> None:
    adb.scripts = Endless(hang)
    device = Device(SERIAL, adb.port, supervisor=SupervisorClient(even_port(), "secret"))
    with pytest.raises(DeviceGone, match="the supervisor is gone") as error:
        device.adb_socket.shell("true", timeout=LONG_S)
    assert error.value.reason == "supervisor_gone"


def test_a_supervisor_that_does_not_answer_is_given_up_after_a_while(
    adb: FakeAdb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.device.presence.ANSWER_S", 0.05)
    monkeypatch.setattr("orchestrator.device.presence.LISTEN_S", 0.0)
    monkeypatch.setattr("orchestrator.device.presence.UNANSWERED_S", 0.2)
    adb.scripts = Endless(hang)
    with Mute() as mute:
        device = Device(SERIAL, adb.port, supervisor=SupervisorClient(mute.port, "secret"))
        with pytest.raises(DeviceGone, match="has not answered for"):
            device.adb_socket.shell("true", timeout=LONG_S)


class Mute(Listening):
    def __enter__(self) -> Mute:
        return self

    def serve(self, connection: socket.socket) -> None:
        hang(connection)


def test_faults_come_with_a_device_that_is_there(
    device: Device, adb: FakeAdb, telling: Telling
) -> None:
    adb.scripts = Endless(fail("device offline"))
    with pytest.raises(DeviceFault, match="device offline"):
        device.adb_socket.shell("true", timeout=LONG_S)
    assert telling.asked == 1  # not once for each read


def test_a_device_without_a_supervisor_is_asked_as_before(adb: FakeAdb, tmp_path: Path) -> None:
    adb.scripts = Endless(hang)
    with pytest.raises(DeviceFault, match="no whole answer"):
        Device(SERIAL, adb.port).adb_socket.shell("true", timeout=0.05)


def test_whoever_listens_to_the_exchanges_is_told(device: Device, telling: Telling) -> None:
    heard: list[str | None] = []
    device.listen(lambda exchange: heard.append(exchange.fault))
    telling.health = {"state": "ended", "hung": ""}
    for name in ("shell", "console"):
        with pytest.raises(DeviceGone):
            CALLS[name](device)
    assert heard == ["the emulator has ended, its supervisor says"] * 2
