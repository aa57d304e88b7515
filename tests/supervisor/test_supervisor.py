"""The supervisor with a stand-in emulator and the real adb server, tested from outside."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.supervisor.supervised import STAND_IN, Start, Supervisor, alive, until


def test_facts_say_what_runs(start: Start, tmp_path: Path) -> None:
    device = start("--snapshot", "clean").ready()
    device.grandchild()
    facts = device.facts()
    assert facts["state"] == "running"
    assert "36.5.11.0" in facts["versions"]["emulator"]
    assert "Android Debug Bridge" in facts["versions"]["adb"]
    assert facts["config_ini"] == "hw.ramSize=2048\n"
    assert facts["serial"] == f"emulator-{device.console_port}"
    assert facts["ports"] == {"adb_server": device.adb_port, "console": device.console_port}
    assert facts["avd_path"] == str(tmp_path / "avds" / "phone.avd")
    assert facts["restarts"] == 0
    assert facts["exit_code"] is None
    assert alive(facts["pid"])
    token = Path(facts["console_token_path"])
    assert token.read_text() == facts["console_token"]
    assert len(facts["console_token"]) == 16
    assert token.stat().st_mode & 0o777 == 0o600
    words = json.loads(device.ask("GET", "/log")[1])["words"]
    assert words[-4:] == ["-snapshot", "clean", "-force-snapshot-load", "-no-snapshot-save"]


def test_the_log_is_given_by_its_tail(start: Start) -> None:
    device = start().ready()
    device.grandchild()
    whole = device.ask("GET", "/log?bytes=100000")[1]
    assert device.ask("GET", "/log?bytes=10")[1] == whole[-10:]
    assert device.ask("GET", "/log?bytes=ten")[0] == 400


def test_requests_need_the_token_and_their_method(start: Start) -> None:
    device = start().ready()
    assert device.ask("GET", "/healthz", token="wrong")[0] == 200
    for path in ("/facts", "/log", "/restart", "/nothing"):
        assert device.ask("GET", path, token="wrong")[0] == 401
        assert device.ask("GET", path, token="")[0] == 401
    assert device.ask("GET", "/restart")[0] == 405
    assert device.ask("POST", "/facts")[0] == 405
    assert device.ask("GET", "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /facts HTTP/1.1\r\nX: a\r\nX: b\r\n\r\n", b"400"),
        (b"POST /restart HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST /restart HTTP/1.1\r\nContent-Length: 99999999999999999\r\n\r\n", b"413"),
        (b"POST /restart HTTP/1.1\r\nContent-Length: 00000000099999\r\n\r\n", b"413"),
        (b"POST /restart HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n", b"413"),
        (b"\x00\xff\r\n\r\n", b"400"),
    ],
)
def test_a_malformed_request_is_refused(start: Start, request_bytes: bytes, status: bytes) -> None:
    device = start().ready()
    with socket.create_connection(("127.0.0.1", device.control_port), timeout=60) as caller:
        caller.sendall(request_bytes)
        assert caller.recv(4096).split(b" ")[1] == status
    assert device.ask("GET", "/healthz")[0] == 200


def test_restart_gives_a_new_process_on_a_new_copy(start: Start, tmp_path: Path) -> None:
    device = start().ready()
    before, child = device.facts(), device.grandchild()
    (tmp_path / "avds" / "phone.avd" / "dirt").touch()
    status, body = device.ask("POST", "/restart")
    assert status == 200, body
    after = json.loads(body)
    assert after["restarts"] == 1
    assert after["exit_code"] == 0
    assert after["pid"] != before["pid"]
    assert after["console_token"] == before["console_token"]
    assert not (tmp_path / "avds" / "phone.avd" / "dirt").exists()
    assert not alive(before["pid"])
    assert not alive(child)
    assert device.ask("GET", "/healthz")[0] == 200


def test_an_emulator_that_will_not_end_is_killed(start: Start, golden: Path) -> None:
    (golden / "behaviour").write_text("stubborn")
    device = start("--grace", "0.1").ready()
    device.grandchild()
    before = device.facts()["pid"]
    status, body = device.ask("POST", "/restart")
    assert status == 200
    assert json.loads(body)["exit_code"] == 137
    assert not alive(before)


@pytest.mark.parametrize(
    ("behaviour", "code"), [("exit 7", 7), ("exit 0", 0), ("signal 11", 139), ("signal 9", 137)]
)
def test_an_exit_nobody_asked_for_is_the_supervisors_own(
    start: Start, golden: Path, behaviour: str, code: int
) -> None:
    (golden / "behaviour").write_text(behaviour)
    device = start()
    assert device.process.wait(60) == code
    assert f"exit code {code}" in device.errors.read_text()
    assert not device.adb_server()


@pytest.mark.parametrize("behaviour", ["run", "stubborn"])
def test_sigterm_stops_everything(start: Start, golden: Path, behaviour: str) -> None:
    (golden / "behaviour").write_text(behaviour)
    device = start().ready()
    pids = [device.grandchild(), device.facts()["pid"], device.adb_server()]
    device.process.terminate()
    assert device.process.wait(60) == 0
    assert not any(alive(pid) for pid in pids)


def test_a_killed_supervisor_takes_its_children_along(start: Start) -> None:
    device = start().ready()
    emulator, server, grandchild = device.facts()["pid"], device.adb_server(), device.grandchild()
    assert alive(server)
    os.kill(device.process.pid, signal.SIGKILL)
    until(lambda: not alive(emulator) and not alive(server), "the children die")
    os.kill(grandchild, signal.SIGKILL)  # only a container's end would have reached it


def test_an_adb_server_that_dies_comes_back(start: Start) -> None:
    device = start().ready()
    old = device.adb_server()
    os.kill(old, signal.SIGKILL)
    until(lambda: device.adb_server() not in (0, old), "a new adb server")
    until(lambda: _speaks_adb(device), "the new server answers")
    assert device.facts()["adb_restarts"] == 1
    assert device.ask("GET", "/healthz")[0] == 200


def _speaks_adb(device: Supervisor) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", device.adb_port), timeout=60) as server:
            server.sendall(b"000chost:version")
            return server.recv(4) == b"OKAY"
    except OSError:
        return False


def test_a_port_in_use_is_one_sentence(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        device = start("--adb-port", str(taken.getsockname()[1]))
        assert device.process.wait(60) == 1
    [line] = device.errors.read_text().splitlines()
    assert "adb server port" in line
    assert "in use" in line


def test_a_missing_golden_avd_is_one_sentence(start: Start, golden: Path) -> None:
    (golden / "config.ini").unlink()
    device = start()
    assert device.process.wait(60) == 1
    [line] = device.errors.read_text().splitlines()
    assert "the golden AVD 'phone' has no config.ini" in line


def test_a_missing_emulator_is_one_sentence(start: Start) -> None:
    device = start(emulator=("/no/such/emulator",))
    assert device.process.wait(60) == 1
    [line] = device.errors.read_text().splitlines()
    assert "/no/such/emulator" in line


def test_an_emulator_of_one_word_is_started_too(start: Start, tmp_path: Path) -> None:
    """Its version is asked with as many words as adb's."""
    program = tmp_path / "emulator"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    versions = start(emulator=(str(program),)).ready().facts()["versions"]
    assert "36.5.11.0" in versions["emulator"]
    assert "Android Debug Bridge" in versions["adb"]


@pytest.mark.parametrize("port", ["99999", "-1", "x", "9" * 30])
def test_what_is_not_a_port_is_one_sentence(start: Start, port: str) -> None:
    device = start("--adb-port", port)
    assert device.process.wait(60) == 2
    assert "Traceback" not in device.errors.read_text()


@pytest.mark.parametrize("behaviour", ["run", "stubborn"])
def test_a_tied_supervisor_ends_with_its_stdin(start: Start, golden: Path, behaviour: str) -> None:
    (golden / "behaviour").write_text(behaviour)
    device = start("--tied", stdin=subprocess.PIPE).ready()
    pids = [device.grandchild(), device.facts()["pid"], device.adb_server()]
    assert device.process.stdin is not None
    device.process.stdin.write(b"words mean nothing\n")
    device.process.stdin.flush()
    assert device.ask("GET", "/healthz")[0] == 200
    device.process.stdin.close()
    assert device.process.wait(60) == 0
    assert not any(alive(pid) for pid in pids)


def test_a_supervisor_cannot_be_tied_to_a_file(start: Start) -> None:
    device = start("--tied", stdin=subprocess.DEVNULL)
    assert device.process.wait(60) == 1
    [line] = device.errors.read_text().splitlines()
    assert "--tied needs a pipe" in line
