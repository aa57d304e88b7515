"""Files come and go whole, as the real adb and adbutils send and ask for them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import struct
from pathlib import Path

import adbutils
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simphone.adbd.packets import CLSE, OKAY, WRTE
from tests.adbd.stand_in import Phone, raw_host

TMP = "/data/local/tmp"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def guest(phone: Phone, path: str) -> Path:
    return phone.world.disk.own(path)


async def test_64_megabytes_go_there_and_back_unchanged(phone: Phone, tmp_path: Path) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    block = os.urandom(1 << 20)
    with source.open("wb") as file:
        for n in range(64):
            file.write(block[n:] + block[:n])
    assert (await phone.adb("push", str(source), f"{TMP}/big")).code == 0
    assert (await phone.adb("pull", f"{TMP}/big", str(back))).code == 0
    assert sha256(back) == sha256(source)


async def test_a_push_keeps_time_and_mode_and_makes_folders(phone: Phone, tmp_path: Path) -> None:
    source = tmp_path / "run.sh"
    source.write_text("echo hi\n")
    source.chmod(0o750)
    os.utime(source, (1_600_000_000, 1_600_000_000))
    assert (await phone.adb("push", str(source), f"{TMP}/a/b c/run.sh")).code == 0
    seen = guest(phone, f"{TMP}/a/b c/run.sh").stat()
    assert int(seen.st_mtime) == 1_600_000_000
    assert stat.S_IMODE(seen.st_mode) == 0o777  # adbd gives everybody what the owner has


@pytest.mark.parametrize("name", ["empty", "two words", "naïve – файл 文件.txt", "'quo\"te$"])
async def test_any_name_and_no_content_survive(phone: Phone, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert (await phone.adb("push", str(tmp_path / name), "/sdcard/")).code == 0
    assert guest(phone, f"/data/media/0/{name}").read_bytes() == b""
    back = tmp_path / "back"
    assert (await phone.adb("pull", f"/sdcard/{name}", str(back))).code == 0
    assert back.read_bytes() == b""
    assert name in (await phone.adb("ls", "/sdcard/")).text


async def test_folders_go_there_and_back(phone: Phone, tmp_path: Path) -> None:
    source = tmp_path / "tree"
    for n in range(9):
        folder = source / f"d{n % 3}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file {n}").write_bytes(bytes([n]) * n * 1000)
    assert (await phone.adb("push", str(source), TMP)).code == 0
    assert (await phone.adb("pull", f"{TMP}/tree", str(tmp_path / "back"))).code == 0
    files = [path for path in source.rglob("*") if path.is_file()]
    assert len(files) == 9
    for path in files:
        assert (tmp_path / "back" / path.relative_to(source)).read_bytes() == path.read_bytes()


async def test_a_push_replaces_what_was_there(phone: Phone, tmp_path: Path) -> None:
    guest(phone, f"{TMP}/f").write_bytes(b"old and longer")
    (tmp_path / "f").write_bytes(b"new")
    assert (await phone.adb("push", str(tmp_path / "f"), f"{TMP}/f")).code == 0
    assert guest(phone, f"{TMP}/f").read_bytes() == b"new"


async def test_a_missing_file_is_named(phone: Phone, tmp_path: Path) -> None:
    ended = await phone.adb("pull", f"{TMP}/none", str(tmp_path))
    assert ended.code == 1
    assert f"failed to stat remote object '{TMP}/none': No such file or directory" in ended.text


async def test_what_belongs_to_root_is_denied_until_adbd_is_root(
    phone: Phone, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(b"secret")
    denied = await phone.adb("push", str(tmp_path / "f"), "/data/system/f")
    assert denied.code == 1
    assert "Permission denied" in denied.text
    refused = await phone.adb("push", str(tmp_path / "f"), "/data/f")
    assert "remote couldn't create file: Permission denied" in refused.text
    phone.world.properties.set("service.adb.root", "1")
    assert (await phone.adb("push", str(tmp_path / "f"), "/data/system/f")).code == 0
    assert (await phone.adb("pull", "/data/system/f", str(tmp_path / "g"))).code == 0
    phone.world.properties.set("service.adb.root", "0")
    denied = await phone.adb("pull", "/data/system/f", str(tmp_path / "h"))
    assert "Permission denied" in denied.text


async def test_the_system_is_read_only(phone: Phone, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(3_000_000))
    phone.world.properties.set("service.adb.root", "1")
    ended = await phone.adb("push", str(tmp_path / "f"), "/system/f")
    assert "remote couldn't create file: Read-only file system" in ended.text


async def test_files_made_on_demand_can_be_pulled(phone: Phone, tmp_path: Path) -> None:
    phone.world.disk.virtual["/proc/version"] = lambda: b"Linux version 6\n"
    assert (await phone.adb("pull", "/proc/version", str(tmp_path / "v"))).code == 0
    assert (tmp_path / "v").read_bytes() == b"Linux version 6\n"


async def test_adbutils_pushes_lists_stats_and_pulls(phone: Phone, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_000))

    def use() -> None:
        client = adbutils.AdbClient("127.0.0.1", phone.server.port)
        sync = client.device(phone.serial).sync
        assert sync.push(source, f"{TMP}/new/f") == 300_000
        assert sync.stat(f"{TMP}/new/f").size == 300_000
        assert sync.stat(f"{TMP}/none").mode == 0
        names = {info.path for info in sync.iter_directory(f"{TMP}/new")}
        assert "f" in names
        assert sync.read_bytes(f"{TMP}/new/f") == source.read_bytes()

    await asyncio.to_thread(use)


async def say(phone: Phone, data: bytes) -> None:
    """Say it without adb's manners; over when the phone closes, or has taken all and is left."""
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("sync:")
        host.send(WRTE, 7, stream, data)
        while (header := (await host.receive())[0]).command != CLSE:
            if header.command == WRTE:
                host.send(OKAY, 7, stream)
            else:
                host.send(CLSE, 7, stream)


def message(name: bytes, payload: bytes) -> bytes:
    return struct.pack("<4sI", name, len(payload)) + payload


async def converse(phone: Phone, data: bytes, size: int) -> bytes:
    """The first `size` bytes that the phone answers."""
    reader, writer = await phone.request("sync:")
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.readexactly(size), 60)
    finally:
        writer.close()


async def test_version_1_and_2_tell_the_same_of_a_file(phone: Phone) -> None:
    path = guest(phone, f"{TMP}/f")
    path.write_bytes(b"12345")
    os.utime(path, (1000, 2000))
    mode = path.stat().st_mode
    name = f"{TMP}/f".encode()
    v1 = await converse(phone, message(b"STAT", name), 16)
    assert struct.unpack("<4sIII", v1) == (b"STAT", mode, 5, 2000)
    for kind in (b"STA2", b"LST2"):
        v2 = struct.unpack("<4sIQQIIIIQqqq", await converse(phone, message(kind, name), 72))
        assert (v2[0], v2[1], v2[4], v2[8], v2[10]) == (kind, 0, mode, 5, 2000)
        missing = await converse(phone, message(kind, b"/data/local/tmp/none"), 72)
        assert struct.unpack_from("<4sI", missing) == (kind, 2)


async def answer(phone: Phone, data: bytes) -> list[bytes]:
    """The packets of the phone's answer, the next one asked for only when the last was read."""
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("sync:")
        host.send(WRTE, 7, stream, data + message(b"QUIT", b""))
        packets = []
        while (received := await host.receive())[0].command != CLSE:
            if received[0].command == WRTE:
                packets.append(received[1])
                host.send(OKAY, 7, stream)
        return packets


@pytest.mark.parametrize("size", [0, 5, 65536, 65537, 200_000])
async def test_the_end_of_a_file_is_in_the_packet_of_its_last_bytes(
    phone: Phone, size: int
) -> None:
    """Alone, these 8 bytes wait 40 ms in the adb server for the client's acknowledgement."""
    guest(phone, f"{TMP}/f").write_bytes(os.urandom(size))
    packets = await answer(phone, message(b"RECV", f"{TMP}/f".encode()))
    assert packets[-1].endswith(message(b"DONE", b""))
    assert len(packets[-1]) > 8 or size == 0


@pytest.mark.parametrize("kind", [b"LIST", b"LIS2"])
async def test_a_small_folder_is_listed_in_one_packet(phone: Phone, kind: bytes) -> None:
    guest(phone, f"{TMP}/f").write_bytes(b"1")
    (packet,) = await answer(phone, message(kind, TMP.encode()))
    assert (packet.count(b"DENT") or packet.count(b"DNT2"), packet.count(b"DONE")) == (3, 1)


async def test_links_are_pushed_as_links_and_never_lead_out(phone: Phone) -> None:
    name = f"{TMP}/link,{stat.S_IFLNK | 0o777}".encode()
    push = message(b"SEND", name) + message(b"DATA", b"/etc/hostname\0")
    assert (await converse(phone, push + struct.pack("<4sI", b"DONE", 1234), 8))[:4] == b"OKAY"
    assert os.readlink(guest(phone, TMP) / "link") == "/etc/hostname"
    failed = await converse(phone, message(b"RECV", f"{TMP}/link".encode()), 8)
    assert failed[:4] == b"FAIL"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (message(b"NOPE", b"/"), b"unknown command 45504f4e"),
        (message(b"STAT", bytes(1025)), b"path too long"),
        (message(b"STAT", b"/data\0/x"), b"invalid path"),
        (message(b"RECV", b"/data/local/tmp"), b"open failed: Is a directory"),
        (message(b"RECV", b"/data/local/tmp/x"), b"open failed: No such file or directory"),
        (message(b"RCV2", b"/x") + struct.pack("<4sI", b"RCV2", 1), b"unknown flags: 1"),
        (
            message(b"SND2", b"/x") + struct.pack("<4sII", b"SND2", 0o644, 4),
            b"unknown flags: 4",
        ),
        (message(b"SEND", b"/data/f," + b"9" * 300), b"missing , in ID_SEND_V1"),
        (message(b"SEND", b"/data/local/tmp,33188"), b"couldn't create file: Is a directory"),
        (
            message(b"SEND", b"/data/local/tmp/f,33188") + message(b"DATA", bytes(65537)),
            b"oversize data message",
        ),
        (
            message(b"SEND", b"/data/local/tmp/f,33188") + message(b"WHAT", b""),
            b"invalid data message",
        ),
    ],
)
async def test_a_refusal_says_why(phone: Phone, said: bytes, reason: bytes) -> None:
    expected = message(b"FAIL", reason)
    assert await converse(phone, said, len(expected)) == expected
    assert not phone.world.disk.exists(f"{TMP}/f", 0)


async def test_an_interrupted_push_leaves_no_half_file(phone: Phone) -> None:
    half = message(b"SEND", f"{TMP}/f,33188".encode()) + message(b"DATA", b"abc")
    await say(phone, half + struct.pack("<4sI", b"DATA", 60_000) + bytes(1000))
    await phone.adbd.settled()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait([task], timeout=60)
    assert not phone.world.disk.exists(f"{TMP}/f", 0)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [b"STAT", b"LST2", b"LIST", b"LIS2", b"RECV", b"SEND", b"SND2", b"DATA", b"DONE"]
            ),
            st.one_of(
                st.binary(max_size=40),
                st.sampled_from([b"/", b"/data/local/tmp/x,33188", b"/data/local/tmp", b"/sdcard"]),
            ),
        ),
        max_size=6,
    ),
    st.binary(max_size=20),
)
async def test_no_conversation_hangs_or_harms(
    phone: Phone, said: list[tuple[bytes, bytes]], tail: bytes
) -> None:
    await say(phone, b"".join(message(*part) for part in said) + tail)
    assert (await converse(phone, message(b"STAT", b"/data"), 16))[:4] == b"STAT"
