"""File transfers with adbutils, with our deadlines and faults."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from orchestrator.device.adb import Adb
from orchestrator.device.faults import DeviceFault
from tests.device.fakes import SERIAL, FakeAdb, hang


def speak_sync(*steps: bytes) -> object:
    """A sync service that waits for nothing and says these, then ends."""

    def play(connection: socket.socket) -> None:
        connection.sendall(b"OKAY")
        connection.recv(4096)
        for step in steps:
            connection.sendall(step)
        connection.shutdown(socket.SHUT_WR)
        hang(connection)

    return play


def refusal(text: bytes) -> bytes:
    return b"FAIL" + struct.pack("<I", len(text)) + text


def stat(mode: int, size: int) -> bytes:
    return b"STAT" + struct.pack("<III", mode, size, 1)


@pytest.fixture
def files(adb: FakeAdb) -> Adb:
    adb.scripts["host:version"] = b"OKAY00040029"
    return Adb(SERIAL, adb.port)


def sync(adb: FakeAdb, *scripts: object) -> None:
    adb.scripts["sync:"] = list(scripts)  # type: ignore[arg-type]


def test_a_server_that_is_not_there_is_a_fault_and_none_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """adbutils as it comes would run `adb start-server` here, on the user's default port."""
    started = tmp_path / "started"
    program = tmp_path / "adb"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setenv("ADBUTILS_ADB_PATH", str(program))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(DeviceFault) as error:
            Adb(SERIAL, unused.getsockname()[1]).read("/x", timeout=60)
    assert error.value.reason == "adb_server"
    assert not started.exists()


def test_a_pulled_file_is_whole(adb: FakeAdb, files: Adb, tmp_path: Path) -> None:
    data = b"DATA" + struct.pack("<I", 5) + b"hello"
    sync(adb, speak_sync(data, b"DONE\0\0\0\0"))
    assert files.pull("/x", tmp_path / "x", timeout=60) == 5
    assert (tmp_path / "x").read_bytes() == b"hello"


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [b"DATA" + struct.pack("<I", 5) + b"hel"],
        [b"DATA" + struct.pack("<I", 5) + b"hello"],
    ],
)
def test_a_pull_cut_off_leaves_no_file(
    adb: FakeAdb, files: Adb, tmp_path: Path, steps: list[bytes]
) -> None:
    sync(adb, speak_sync(*steps))
    with pytest.raises(DeviceFault) as error:
        files.pull("/x", tmp_path / "x", timeout=60)
    assert error.value.reason == "transport_closed"
    assert list(tmp_path.iterdir()) == []


def test_a_refused_pull_keeps_the_phones_words(adb: FakeAdb, files: Adb, tmp_path: Path) -> None:
    sync(adb, speak_sync(refusal(b"open failed: No such file or directory")))
    with pytest.raises(DeviceFault, match="No such file or directory") as error:
        files.pull("/x", tmp_path / "x", timeout=60)
    assert error.value.reason == "sync_refused"


def test_a_refused_push_keeps_the_phones_words(adb: FakeAdb, files: Adb) -> None:
    """adbutils' own push would say only FAIL."""
    sync(adb, speak_sync(stat(0, 0)), speak_sync(refusal(b"couldn't create file: Read-only")))
    with pytest.raises(DeviceFault, match="couldn't create file: Read-only"):
        files.push(b"data", "/system/x", timeout=60)


def test_a_push_that_arrived_short_is_a_fault(adb: FakeAdb, files: Adb) -> None:
    sync(adb, speak_sync(stat(0, 0)), speak_sync(b"OKAY\0\0\0\0"), speak_sync(stat(0o100644, 3)))
    with pytest.raises(DeviceFault, match="3 of 4 bytes arrived"):
        files.push(b"data", "/x", timeout=60)


def test_a_push_onto_a_folder_is_refused(adb: FakeAdb, files: Adb) -> None:
    sync(adb, speak_sync(stat(0o040755, 0)))
    with pytest.raises(DeviceFault, match="is a folder"):
        files.push(b"data", "/data/local/tmp", timeout=60)


def test_a_stat_cut_off_is_a_fault(adb: FakeAdb, files: Adb) -> None:
    sync(adb, speak_sync(stat(0, 0)[:10]))
    with pytest.raises(DeviceFault) as error:
        files.push(b"data", "/x", timeout=60)
    assert error.value.reason == "transport_closed"


def test_a_transfer_has_a_deadline(adb: FakeAdb, files: Adb) -> None:
    sync(adb, hang)
    with pytest.raises(DeviceFault) as error:
        files.read("/x", timeout=0.1)
    assert error.value.reason == "timeout"


def test_a_local_file_that_is_not_there_is_told_apart(adb: FakeAdb, files: Adb) -> None:
    sync(adb, speak_sync(stat(0, 0)))
    with pytest.raises(DeviceFault) as error:
        files.push(Path("/no/such/file"), "/x", timeout=60)
    assert error.value.reason == "local_file"
