"""The private adb server as the supervisor starts it, with the real adb."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import adbutils
import pytest

from orchestrator.supervisor.adb import SERVER_ENV
from tests.ports import even_port
from tests.supervisor.supervised import PATIENCE_S, until


def message(command: bytes, first: int, second: int, data: bytes) -> bytes:
    number = int.from_bytes(command, "little")
    head = (number, first, second, len(data), sum(data), number ^ 0xFFFFFFFF)
    return struct.pack("<6I", *head) + data


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    port = even_port()
    command = [adbutils.adb_path(), "-P", str(port), "nodaemon", "server"]
    env = {**os.environ, "HOME": str(tmp_path), **SERVER_ENV}
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens, "the adb server listens")
    yield port
    process.kill()
    process.wait()


def test_an_emulator_that_drops_is_dialled_again_without_being_told(server: int) -> None:
    """A real emulator announces itself once; after a snapshot load it waits to be dialled."""
    port = even_port() + 1
    request = f"host:emulator:{port}"
    with socket.create_server(("127.0.0.1", port)) as adbd:
        adbd.settimeout(PATIENCE_S)
        with socket.create_connection(("127.0.0.1", server)) as caller:
            caller.sendall(f"{len(request):04x}{request}".encode())
            first, _ = adbd.accept()
        with first:
            assert first.recv(4) == b"CNXN"
            first.sendall(message(b"CNXN", 0x01000001, 4096, b"device::features=shell_v2"))
            until(lambda: f"emulator-{port - 1}\tdevice" in listed(server), "it is listed")
        second, _ = adbd.accept()
        with second:
            assert second.recv(4) == b"CNXN"


def listed(server: int) -> str:
    with socket.create_connection(("127.0.0.1", server), timeout=PATIENCE_S) as caller:
        caller.sendall(b"000chost:devices")
        return caller.recv(4096).decode()


def test_another_client_cannot_kill_it(server: int) -> None:
    """A client of another version would, as its first act."""
    with socket.create_connection(("127.0.0.1", server), timeout=PATIENCE_S) as caller:
        caller.sendall(b"0009host:kill")
        assert caller.recv(4) in (b"OKAY", b"FAIL", b"")
    assert listed(server).startswith("OKAY")
