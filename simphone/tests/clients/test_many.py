"""Many phones share one adb server and none is taken for another."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import adbutils

from tests.adbd.stand_in import adb_server
from tests.clients.conftest import started

PHONES = 8


def test_eight_phones_on_one_server_answer_each_for_itself(tmp_path: Path) -> None:
    with ExitStack() as running:
        server = running.enter_context(adb_server(tmp_path))
        phones = [running.enter_context(started(server, tmp_path / "avd")) for _ in range(PHONES)]
        for phone in phones:
            phone.wait_booted()
        for phone in phones:
            phone.sh(f"settings put global whose {phone.serial}")
        serials = {phone.serial for phone in phones}
        assert {phone.sh("settings get global whose") for phone in phones} == serials
        listed = phones[0].out("devices")
        assert set(re.findall(r"(emulator-\d+)\s+device", listed)) == serials
        theirs = adbutils.AdbClient("127.0.0.1", server.port).device_list()
        assert {each.serial: each.shell("settings get global whose") for each in theirs} == {
            serial: serial for serial in serials
        }
