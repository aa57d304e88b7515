"""Many phones share one adb server and none is taken for another."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import adbutils
import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.device.phone import Device
from orchestrator.fleet.local import ports
from orchestrator.image.simphone import simphone
from tests.whole.person import until

PHONES = 8


@pytest.fixture
def shared_server(tmp_path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """An adb server of the test's own, and the environment that leads to it."""
    claim = ports.claim()
    port = claim.server_port
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANDROID_ADB_SERVER_PORT": str(port),
        "ANDROID_AVD_HOME": str(tmp_path / "avd"),
        "ADB_LIBUSB": "0",
        "ADB_MDNS": "0",
    }
    command = [str(adb_binary()), "-P", str(port), "nodaemon", "server"]
    with (tmp_path / "adb.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        until(lambda: answers(port), "an adb server")
        yield port, env
    finally:
        server.terminate()
        server.wait(60)
        claim.release()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_eight_phones_on_one_server_answer_each_for_itself(
    tmp_path: Path, shared_server: tuple[int, dict[str, str]]
) -> None:
    adb_port, env = shared_server
    with ExitStack() as cleanup:
        claims = [ports.claim() for _ in range(PHONES)]
        for claim in claims:
            cleanup.callback(claim.release)
            simphone().create_avd(tmp_path / "avd", f"phone-{claim.port}")
            command = [simphone().program, "-avd", f"phone-{claim.port}"]
            command += ["-port", str(claim.port), "-no-window", "-skip-adb-auth"]
            process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
            cleanup.callback(process.wait, 60)
            cleanup.callback(process.send_signal, signal.SIGTERM)
        phones = [Device(f"emulator-{claim.port}", adb_port) for claim in claims]
        for phone in phones:
            assert phone.wait_ready(60).ready
        for phone in phones:
            phone.settings.put("global", "whose", phone.serial)
        assert [phone.settings.get("global", "whose") for phone in phones] == [
            phone.serial for phone in phones
        ]
        listed = subprocess.run(
            [str(adb_binary()), "devices"],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        serials = {phone.serial for phone in phones}
        assert set(re.findall(r"(emulator-\d+)\s+device", listed.stdout)) == serials
        theirs = adbutils.AdbClient("127.0.0.1", adb_port).device_list()
        assert {each.serial: each.shell("settings get global whose") for each in theirs} == {
            serial: serial for serial in serials
        }
