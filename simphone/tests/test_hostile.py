"""Root, strangers and hostile pages can harm the guest; the phone goes on and says what it saw."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from simphone.adbd import guest_files
from simphone.disk import Disk
from simphone.phone import Phone
from simphone.ui import fonts
from simphone.web.address import typed
from simphone.web.flow import Flow, Look
from tests.booted import ask, booted, is_up, until

SOON_S = 10.0


async def rebooted(phone: Phone) -> None:
    before = phone.world.boot_id
    phone.reboot()
    await until(lambda: phone.world.boot_id != before and is_up(phone))


async def test_a_property_file_that_root_ruined_is_a_line_in_the_log(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        path = phone.world.disk.own("/data/property/persistent_properties")
        phone.world.properties.set("persist.odd", "two\nlines = odd")
        await rebooted(phone)
        assert phone.world.properties.get("persist.odd") == "two\nlines = odd"
        for ruin in (b"garbage", b"[1]", b"\xff\x00", b"[" * 100_000):
            phone.world.properties.clear()  # nothing is stored over the ruin on the way down
            path.write_bytes(ruin)
            await rebooted(phone)
            said = [line.text for line in phone.world.logcat.lines()]
            assert any("Unable to parse persistent property file" in text for text in said)
        assert not phone.exited.done()


async def test_without_a_readable_registry_no_package_is_installed(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        for ruin in (b"garbage", b"{}x", b"[1]", b'[{"name": "x"}]'):
            phone.world.disk.own("/data/system/packages.json").write_bytes(ruin)
            phone.world.packages.forget()
            assert phone.world.packages.all() == []


async def test_a_command_that_fails_is_a_ko_and_the_console_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with booted(tmp_path) as phone:

        def ruined(number: str) -> bool:
            raise sqlite3.DatabaseError("file is not a database")

        monkeypatch.setattr(phone.world.telephony, "ring", ruined)
        said = await ask(phone, "gsm call 5550100", "ping")
        assert said == "KO: internal error\r\nI am alive!\r\nOK\r\n"


async def test_a_battery_holds_no_more_than_a_hundred(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        usage = 'KO: Usage: "capacity <percentage>"\r\n'
        for percentage in ("101", "0000999", "9" * 5000, "-1", "x"):
            assert await ask(phone, f"power capacity {percentage}") == usage
        assert await ask(phone, "power capacity 100") == "OK\r\n"


def test_folders_nest_no_deeper_than_what_walks_them(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "userdata", tmp_path / "system")
    assert disk.canonical("/sdcard/" + "d/" * 200)
    with pytest.raises(OSError, match="File name too long"):
        disk.canonical("d/" * 200, "/sdcard/" + "d/" * 100)


def test_an_unfinished_push_removes_nothing_but_itself(tmp_path: Path) -> None:
    """Its folder may have become a link out of the tree while the file came."""
    disk = Disk(tmp_path / "userdata", tmp_path / "system")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("precious")
    fd = guest_files.create(disk, "/data/local/tmp/d/f", 2000, 0o644)
    folder = disk.own("/data/local/tmp/d/f").parent
    try:
        folder.rename(folder.with_name("e"))
        folder.symlink_to(outside)
        guest_files.discard(disk, "/data/local/tmp/d/f", 2000, fd)
        assert (outside / "f").read_text() == "precious"
        folder.unlink()
        folder.with_name("e").rename(folder)
        guest_files.discard(disk, "/data/local/tmp/d/f", 2000, fd)
        assert not (folder / "f").exists()
    finally:
        os.close(fd)


def test_a_word_without_end_is_broken_in_no_time() -> None:
    word = "x" * 20_000
    started = time.monotonic()
    lines = fonts.wrap(word, 40, 900)
    assert "".join(lines) == word
    assert all(fonts.width(line, 40) <= 900 for line in lines)
    assert len(fonts.wrap(word * 50, 40, 900, "Regular", 2)) == 2
    assert len(fonts.shorten(word * 50, 40, 900)) < 200
    flow = Flow([[word, "", "", ""]], 900, Look(40))
    assert "".join(piece.words for piece in flow.pieces) == word
    assert time.monotonic() - started < SOON_S


def test_a_line_of_dots_is_no_riddle_for_the_address_field() -> None:
    started = time.monotonic()
    typed("a." * 500_000 + "::")
    assert time.monotonic() - started < SOON_S
