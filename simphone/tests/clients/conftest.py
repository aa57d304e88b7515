"""A phone as a user has it: its own process and adb server, driven by the real adb."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import adbutils
import pytest

from simphone.avd import create_avd
from tests.adbd.stand_in import AdbServer, adb_server
from tests.ports import even_port

CLEAN = "clean"
PATIENCE_S = 120.0


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"in vain: {what}"


@dataclass(frozen=True)
class Phone:
    """One running phone, by the adb binary."""

    server: AdbServer
    serial: str

    @property
    def env(self) -> dict[str, str]:
        return {**self.server.env, "ANDROID_SERIAL": self.serial}

    def adb(self, *words: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [adbutils.adb_path(), *words],
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

    def sh(self, script: str) -> str:
        return self.out("shell", script).strip()

    def connection(self) -> str:
        """The number of adb's connection; empty where it has none."""
        line = rf"^{self.serial}\s+device .*transport_id:(\d+)"
        found = re.search(line, self.out("devices", "-l"), re.MULTILINE)
        return found[1] if found else ""

    def wait_booted(self) -> None:
        self.out("wait-for-device")
        until(
            lambda: self.adb("shell", "getprop sys.boot_completed").stdout.strip() == b"1",
            f"{self.serial} booted",
        )

    def load(self, snapshot: str) -> None:
        before = self.connection()
        assert self.out("emu", "avd", "snapshot", "load", snapshot).strip() == "OK"
        # The old connection is listed for a moment longer, and would be taken for the new one.
        until(lambda: self.connection() not in ("", before), "a new connection")


@contextmanager
def started(server: AdbServer, avds: Path, *argv: str) -> Iterator[Phone]:
    port = even_port()
    create_avd(avds, f"phone-{port}")
    command = [sys.executable, "-m", "simphone", "-avd", f"phone-{port}", "-port", str(port)]
    process = subprocess.Popen(
        [*command, "-no-window", "-skip-adb-auth", *argv],
        env={**server.env, "ANDROID_AVD_HOME": str(avds)},
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Phone(server, f"emulator-{port}")
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdbServer]:
    with adb_server(tmp_path_factory.mktemp("adb_home")) as running:
        yield running


@pytest.fixture(scope="session")
def booted(server: AdbServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phone]:
    with started(server, tmp_path_factory.mktemp("avd")) as phone:
        phone.wait_booted()
        assert phone.out("emu", "avd", "snapshot", "save", CLEAN).strip() == "OK"
        yield phone


@pytest.fixture
def phone(booted: Phone) -> Iterator[Phone]:
    """The session's phone, as it was at first, whatever the last test did to it."""
    yield booted
    booted.load(CLEAN)
