"""A request to the adb server returns a complete answer with an exit code, or raises a fault."""

from __future__ import annotations

import socket
import time

import pytest

from orchestrator.device.adb_socket import AdbSocket, Exchange
from orchestrator.device.faults import DeviceFault
from tests.device.fakes import SERIAL, FakeAdb, answer, fail, hang, packet


@pytest.fixture
def adb_socket(adb: FakeAdb) -> AdbSocket:
    return AdbSocket(SERIAL, adb.port)


def reason(error: pytest.ExceptionInfo[DeviceFault]) -> str:
    return error.value.reason


@pytest.mark.parametrize("code", [0, 1, 127, 255])
def test_exit_codes_arrive(adb: FakeAdb, adb_socket: AdbSocket, code: int) -> None:
    adb.shell("x", answer("out\n", "err\n", code))
    result = adb_socket.shell("x")
    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", code)


def test_binary_output_is_untouched_in_any_pieces(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    data = bytes(range(256)) * 4096

    def in_pieces(connection: socket.socket) -> None:
        whole = (
            b"OKAY" + packet(1, data[:7]) + packet(1, b"") + packet(1, data[7:]) + packet(3, b"\0")
        )
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for cut in (whole[:6], whole[6:20], whole[20:]):
            connection.sendall(cut)
        hang(connection)

    adb.shell("x", in_pieces)
    assert adb_socket.shell("x").stdout == data


def test_a_lost_exit_packet_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    """adb 34 returns 0 here, and adbutils' v1 shell a shorter text."""
    adb.shell("x", answer("half of the rows", code=None))
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x")
    assert reason(error) == "shell_truncated"
    assert "16 bytes" in error.value.text


def test_a_packet_cut_in_the_middle_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    adb.shell("x", b"OKAY" + packet(1, b"whole answer")[:9])
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x")
    assert reason(error) == "shell_truncated"


def test_garbage_for_packets_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    adb.shell("x", b"OKAYnot packets at all")
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x")
    assert reason(error) == "bad_answer"


def test_an_exit_packet_without_a_code_is_no_success(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    adb.shell("x", b"OKAY" + packet(1, b"out") + packet(3, b""))
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x")
    assert reason(error) == "bad_answer"


def test_a_stranger_on_the_servers_port_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    adb.transport = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x")
    assert reason(error) == "bad_answer"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("device offline", "device_offline"),
        (f"device '{SERIAL}' not found", "device_not_found"),
        ("device unauthorized.", "device_unauthorized"),
    ],
)
def test_a_refused_transport_keeps_adbs_text(
    adb: FakeAdb, adb_socket: AdbSocket, text: str, expected: str
) -> None:
    adb.transport = fail(text)
    for call in (
        lambda: adb_socket.shell("x"),
        lambda: adb_socket.exec_out("x"),
        adb_socket.transport_id,
    ):
        with pytest.raises(DeviceFault) as error:
            call()
        assert reason(error) == expected
        assert error.value.text == text


def test_a_refused_service_is_a_fault(adb_socket: AdbSocket) -> None:
    """An unknown device service is `FAIL0006closed`."""
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("unknown")
    assert (reason(error), error.value.text) == ("transport_closed", "closed")


def test_no_server_is_a_fault_and_none_is_started() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(DeviceFault) as error:
            AdbSocket(SERIAL, port).shell("x")
        assert reason(error) == "adb_server"


def test_a_silent_phone_is_a_timeout(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    adb.shell("x", hang)
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x", timeout=0.05)
    assert reason(error) == "timeout"


def test_a_phone_that_trickles_is_a_timeout_too(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    """The deadline is the call's, not each byte's."""

    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"OKAY")
        while True:
            connection.sendall(packet(1, b"x"))
            time.sleep(0.01)

    adb.shell("x", trickle)
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x", timeout=0.15)
    assert reason(error) == "timeout"


def test_stdin_goes_out_while_stdout_comes_in(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    """More both ways than any buffer between holds: neither side waits for the other."""
    data = bytes(range(251)) * 40_000

    def echo(connection: socket.socket) -> None:
        connection.sendall(b"OKAY")
        with connection.makefile("rb") as incoming:
            while True:
                kind, *size = incoming.read(5)
                piece = incoming.read(int.from_bytes(bytes(size), "little"))
                if kind == 4:
                    connection.sendall(packet(3, b"\x05"))
                    return
                connection.sendall(packet(1, piece))

    adb.shell("cat", echo)
    result = adb_socket.shell("cat", stdin=data)
    assert result.stdout == data
    assert result.exit_code == 5


def test_a_command_without_stdin_sees_its_end(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    def wait_for_end(connection: socket.socket) -> None:
        connection.sendall(b"OKAY")
        closing = connection.recv(5)
        connection.sendall(packet(1, closing) + packet(3, b"\0"))

    adb.shell("cat", wait_for_end)
    assert adb_socket.shell("cat").stdout == b"\x04\0\0\0\0"


def test_a_command_that_does_not_fit_the_frame_is_refused(adb_socket: AdbSocket) -> None:
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell("x" * 70_000)
    assert reason(error) == "adb_refused"


@pytest.mark.parametrize("command", ["echo a\0; reboot", "echo \ud800"])
def test_what_the_phone_would_read_otherwise_is_not_sent(
    adb: FakeAdb, adb_socket: AdbSocket, command: str
) -> None:
    """The phone's shell ends a command at its NUL; a lone surrogate has no bytes at all."""
    with pytest.raises(DeviceFault) as error:
        adb_socket.shell(command)
    assert reason(error) == "adb_refused"
    assert not any("echo" in request for request in adb.asked)


def test_a_reconnect_refused_after_okay_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket) -> None:
    request = f"host-serial:{SERIAL}:reconnect"
    adb.scripts[request] = b"OKAY001ereconnecting emulator [device]"
    assert adb_socket.reconnect() == "reconnecting emulator [device]"
    adb.scripts[request] = b"OKAY001ddevice 'emulator-5' not found"
    with pytest.raises(DeviceFault) as error:
        adb_socket.reconnect()
    assert reason(error) == "device_not_found"


@pytest.mark.parametrize("reply", [b"OKAY-001", b"OKAY+00a", b"OKAY", b"OKAY0004zzzz"])
def test_a_reply_that_is_none_is_a_fault(adb: FakeAdb, adb_socket: AdbSocket, reply: bytes) -> None:
    adb.scripts["host:version"] = reply
    with pytest.raises(DeviceFault):
        adb_socket.server_version()


def test_a_listener_may_end_while_a_call_is_under_way(adb: FakeAdb) -> None:
    adb_socket = AdbSocket(SERIAL, adb.port, lambda exchange: None)

    def end_it(connection: socket.socket) -> None:
        adb_socket.listener = None
        connection.sendall(answer("out"))

    adb.shell("x", end_it)
    assert adb_socket.shell("x").text == "out"


def test_every_exchange_is_told_to_the_listener(adb: FakeAdb) -> None:
    heard: list[Exchange] = []
    adb_socket = AdbSocket(SERIAL, adb.port, heard.append)
    adb.shell("good", answer("out", "err", 3))
    adb.shell("bad", answer("half", code=None))
    adb_socket.shell("good")
    with pytest.raises(DeviceFault):
        adb_socket.shell("bad")
    good, bad = heard
    assert (good.stdout, good.stderr, good.exit_code, good.fault) == (b"out", b"err", 3, None)
    assert (bad.stdout, bad.exit_code) == (b"half", None)
    assert bad.fault is not None
    assert "shell truncated" in bad.fault


def test_the_transports_number_and_state_are_asked_of_the_server(
    adb: FakeAdb, adb_socket: AdbSocket
) -> None:
    adb.transport = 77
    assert adb_socket.transport_id() == 77
    assert adb_socket.state() == "device"
