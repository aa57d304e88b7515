"""AdbSocket-level fakes on real sockets: an adb server with one phone behind it, and a console.

Each answers by a table of scripts, so that a test can plant any trap at the byte where it bites.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from orchestrator.device.faults import DeviceFault

SERIAL = "emulator-5586"
Script = bytes | Callable[[socket.socket], None]


def packet(kind: int, data: bytes) -> bytes:
    return struct.pack("<BI", kind, len(data)) + data


def answer(stdout: bytes | str = b"", stderr: bytes | str = b"", code: int | None = 0) -> bytes:
    """Shell v2 packets; a code of None loses the exit packet."""
    out = stdout.encode() if isinstance(stdout, str) else stdout
    err = stderr.encode() if isinstance(stderr, str) else stderr
    whole = packet(1, out) if out else b""
    whole += packet(2, err) if err else b""
    return b"OKAY" + whole + (b"" if code is None else packet(3, bytes([code])))


def fail(text: str) -> bytes:
    return b"FAIL" + f"{len(text):04x}{text}".encode()


def hang(connection: socket.socket) -> None:
    """Say nothing until the other side goes away."""
    while connection.recv(4096):
        pass


class Listening:
    """A server on a free loopback port with a thread per connection, closed as a context."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.serve(connection)
        self._open.discard(connection)

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError


class FakeAdb(Listening):
    """The adb server's host protocol. `transport` and `scripts` may change while it runs."""

    def __init__(self) -> None:
        self.transport: int | bytes = 1  # bytes: what the server says instead
        self.state: bytes = b"device"
        self.scripts: dict[str, Script | list[Script]] = {}
        self.asked: list[str] = []
        super().__init__()

    def __enter__(self) -> FakeAdb:
        return self

    def shell(self, command: str, *scripts: Script) -> None:
        """What the phone answers to a command; each of several once, then the last again."""
        self.scripts[f"shell,v2,raw:{command}"] = list(scripts)

    def serve(self, connection: socket.socket) -> None:
        while (request := _framed(connection)) is not None:
            self.asked.append(request)
            if request == f"host:tport:serial:{SERIAL}":
                if isinstance(self.transport, bytes):
                    connection.sendall(self.transport)
                    return
                connection.sendall(b"OKAY" + self.transport.to_bytes(8, "little"))
                continue
            if request == f"host-serial:{SERIAL}:get-state":
                connection.sendall(b"OKAY%04x" % len(self.state) + self.state)
                return
            if request.startswith("host:emulator:"):
                return
            self._play(request, connection)
            return

    def _play(self, request: str, connection: socket.socket) -> None:
        script = self.scripts.get(request, fail("closed"))
        if isinstance(script, list):
            script = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(script, bytes):
            connection.sendall(script)
            connection.shutdown(socket.SHUT_WR)
            hang(connection)
        else:
            script(connection)


def _framed(connection: socket.socket) -> str | None:
    size = _exactly(connection, 4)
    return _exactly(connection, int(size, 16)).decode() if size else None


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            return b""
        data += piece
    return data


GREETING = (
    b"Android Console: Authentication required\r\n"
    b"Android Console: type 'auth <auth_token>' to authenticate\r\n"
    b"Android Console: you can find your <auth_token> in \r\n"
    b"'/root/.emulator_console_auth_token'\r\nOK\r\n"
)
WELCOME = b"Android Console: type 'help' for a list of commands\r\nOK\r\n"
REFUSED = b"KO: authentication token does not match ~/.emulator_console_auth_token\r\n"


class FakeConsole(Listening):
    """The emulator console: a list of replies, each a list of separate writes, by command."""

    def __init__(self, token: str = "0123456789abcdef") -> None:
        self.token = token
        self.replies: dict[str, list[bytes]] = {"ping": [b"I am alive!\r\nOK\r\n"]}
        self.greeting: list[bytes] = [GREETING]
        self.asked: list[str] = []
        super().__init__()

    def __enter__(self) -> FakeConsole:
        return self

    def serve(self, connection: socket.socket) -> None:
        for write in self.greeting:
            connection.sendall(write)
        with connection.makefile("rb") as lines:
            for line in lines:
                command = line.decode().strip()
                self.asked.append(command)
                if command == f"auth {self.token}":
                    connection.sendall(WELCOME)
                elif command.startswith("auth"):
                    connection.sendall(REFUSED)
                else:
                    unknown = [b"KO: unknown command, try 'help'\r\n"]
                    for write in self.replies.get(command, unknown):
                        connection.sendall(write)
                    if command == "kill":
                        return


def reason(call: Callable[[], object]) -> str:
    """Of the fault that it ends with."""
    with pytest.raises(DeviceFault) as error:
        call()
    return error.value.reason
