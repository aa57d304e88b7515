"""What only a running phone can show: ports, clocks, databases, lost connections, many calls."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.farm.simulated_phone import boot, simulated_phone
from tests.device.fakes import Listening
from tests.ports import even_port

MARKER = "/data/local/tmp/emufarm-marker.json"
SMS = "/data/data/com.android.providers.telephony/databases/mmssms.db"


@pytest.fixture(scope="module")
def phone() -> Iterator[Device]:
    with simulated_phone() as running:
        yield boot(running)[0]


def test_a_dropped_connection_is_followed_by_a_working_one(phone: Device) -> None:
    """Dropped once: a second drop would hit the connection that was waited for."""
    for _ in range(3):
        old = phone.adb_socket.transport_id()
        phone.reconnect()
        assert phone.adb_socket.transport_id() > old
        assert phone.adb_socket.shell("echo here").text == "here\n"


def test_an_unknown_phone_cannot_be_reconnected(
    phone: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.device.reconnect.RENEWAL_SECONDS", 1.0)
    stranger = Device("emulator-1", phone.adb_socket.server_port)
    with pytest.raises(DeviceFault) as error:
        stranger.reconnect()
    assert error.value.reason == "device_not_found"


class Greeting(Listening):
    def serve(self, connection: socket.socket) -> None:
        connection.sendall(b"hello from the host")


def test_ports_lead_both_ways(phone: Device) -> None:
    """Host to phone by forward, and on from the phone to the host by reverse."""
    port = even_port()
    with Greeting() as site:
        phone.adb.reverse("tcp:8123", f"tcp:{site.port}")
        phone.adb.forward(f"tcp:{port}", "tcp:8123")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            assert connection.recv(100) == b"hello from the host"


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_a_port_that_is_none_is_refused_in_adbs_words(phone: Device, way: str) -> None:
    with pytest.raises(DeviceFault, match="unknown socket specification") as error:
        getattr(phone.adb, way)("nonsense", "tcp:1")
    assert error.value.reason == "adb_refused"


def test_a_load_is_proven_on_a_phone(phone: Device) -> None:
    baked = json.dumps({"tag": "proof", "nonce": "0123"})
    phone.files.push(baked.encode(), MARKER)
    boot_id = phone.clock.boot_id()
    phone.snapshots.save("proof")
    phone.files.remove(MARKER)
    proof = phone.snapshots.load("proof", marker=MARKER)
    assert proof.marker == baked
    assert (proof.command, proof.reply) == ("avd snapshot load proof", "OK")
    assert proof.boot_id == boot_id
    assert (proof.file_gone, proof.property_gone) == (True, True)
    assert (proof.frame.width, proof.frame.height, proof.frame.uniform) == (1080, 2400, False)
    assert proof.fingerprint == phone.identity().fingerprint
    assert proof.clock_before is not None
    phone.console.delete_snapshot("proof")


def test_a_load_that_does_nothing_is_not_proven() -> None:
    with simulated_phone(fault="snapshot-load-noop") as running:
        lazy, _ = boot(running)
        lazy.snapshots.save("proof")
        with pytest.raises(DeviceFault) as error:
            lazy.snapshots.load("proof", seconds=1)
        assert error.value.reason == "snapshot_failed"


def set_clock(phone: Device, when: float) -> None:
    """Sets a date, with network time off. toybox takes MMDDhhmmYYYY.SS; -u makes it UTC."""
    for key in ("auto_time", "auto_time_zone"):
        phone.settings.put("global", key, "0")
    phone.shell.do("date", "-u", time.strftime("%m%d%H%M%Y.%S", time.gmtime(when)), root=True)


def test_a_clock_is_measured_after_it_was_set(phone: Device) -> None:
    now = phone.clock.now()
    for away in (-3 * 86400, 30 * 86400):
        set_clock(phone, now + away)
        assert abs(phone.clock.offset().seconds - away) < 60
        assert phone.settings.get("global", "auto_time") == "0"
    set_clock(phone, now)


def test_a_database_is_pulled_with_what_is_only_in_its_log(phone: Device, tmp_path: Path) -> None:
    phone.console.send_sms("5550199", "pulled, with = and , in it")

    def bodies() -> list[str]:
        copy = phone.files.pull_database(SMS, tmp_path)
        database = sqlite3.connect(copy)
        try:
            return [body for (body,) in database.execute("select body from sms")]
        finally:
            database.close()

    for _ in range(100):
        if "pulled, with = and , in it" in bodies():
            break
        phone.adb_socket.shell("true")
    assert "pulled, with = and , in it" in bodies()


def test_threads_may_share_a_device(phone: Device) -> None:
    """One acts, another watches, a third listens and stops listening."""
    ended = threading.Event()

    def listen() -> int:
        times = 0
        while not ended.is_set():
            phone.listen(lambda exchange: None)
            phone.listen(None)
            times += 1
        return times

    def act() -> None:
        for _ in range(20):
            phone.input.key("KEYCODE_HOME")

    with ThreadPoolExecutor(4) as threads:
        listening, acting = threads.submit(listen), threads.submit(act)
        watching = threads.submit(lambda: [phone.foreground().package for _ in range(20)])
        looking = threads.submit(lambda: {phone.screen.capture().width for _ in range(3)})
        acting.result(60)
        assert None not in watching.result(60)
        assert looking.result(60) == {1080}
        ended.set()
        assert listening.result(60) > 0


def test_no_call_leaves_a_file_open(phone: Device, tmp_path: Path) -> None:
    """Neither what answers nor what faults, though the faults be kept."""
    failing: list[Callable[[], object]] = [
        lambda: phone.shell.do("no-such-command"),
        lambda: phone.files.pull("/no/such/file", tmp_path / "copy"),
        lambda: phone.files.push(b"x", "/system/no/such/file"),
        lambda: phone.adb.forward("nonsense", "tcp:1"),
        lambda: phone.console.ask("no-such-command"),
        lambda: phone.adb_socket.host("host:no-such-request"),
        lambda: phone.adb_socket.shell("sleep 5", timeout=0.001),
        lambda: Device("emulator-1", phone.adb_socket.server_port).files.read("/x"),
    ]
    faults: list[DeviceFault] = []
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(500):
        phone.adb_socket.shell("true")
    for _ in range(5):
        for call in failing:
            with pytest.raises(DeviceFault) as error:
                call()
            faults.append(error.value)
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(faults) == 5 * len(failing)
