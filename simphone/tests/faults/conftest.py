"""A phone that may be told to fail: its own process and adb server, driven by the real adb."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.adbd.stand_in import AdbServer
from tests.clients.conftest import CLEAN, Phone, server, started, until

__all__ = ["server"]


class FailingPhone(Phone):
    def arm(self, words: str) -> None:
        assert self.out("emu", f"sim-fault arm {words}").strip() == "OK", words

    def row(self) -> str:
        """What the list says of the one that is armed."""
        row, end = self.out("emu", "sim-fault list").splitlines()
        assert end == "OK"
        return row

    def counts(self) -> list[int]:
        """Passages of it, and how often it has happened."""
        words = dict(word.partition("=")[::2] for word in self.row().split())
        return [int(words["passages"]), int(words["happened"])]

    def state(self) -> str:
        """As adb lists it; empty where it does not."""
        rows = [line.split() for line in self.out("devices").splitlines()]
        return next((row[1] for row in rows if row[:1] == [self.serial]), "")

    def received(self, state: str, before: str) -> bool:
        """Whether a connection after that one is in this state: a lost one is offline too."""
        line = rf"^{self.serial}\s+{state} .*transport_id:(\d+)"
        found = re.search(line, self.out("devices", "-l"), re.MULTILINE)
        return found is not None and found[1] != before

    def sound(self) -> None:
        """Wait until it answers as a phone does that has booted."""
        ready = "getprop sys.boot_completed; service check input; pm path android"
        wanted = "1\nService input: found\npackage:"
        until(lambda: self.adb("shell", ready).stdout.decode().startswith(wanted), "a sound phone")

    def reset(self) -> None:
        """As it was at first, whatever happened to it."""
        assert self.out("emu", "sim-fault clear").strip() == "OK"
        until(lambda: self.state() == "device", "a phone that adb reaches")
        self.load(CLEAN)
        self.sound()


@pytest.fixture(scope="session")
def booted(server: AdbServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailingPhone]:
    with started(server, tmp_path_factory.mktemp("avd"), "-sim-faults") as running:
        phone = FailingPhone(running.server, running.serial)
        phone.wait_booted()
        assert phone.out("emu", "avd", "snapshot", "save", CLEAN).strip() == "OK"
        yield phone


@pytest.fixture
def phone(booted: FailingPhone) -> Iterator[FailingPhone]:
    yield booted
    booted.reset()
