"""Requests to the adb server over a plain socket: shell, exec and host requests.

A shell call takes one connection and no sleep (adbutils sleeps 10 ms at each close). The server's
port is always explicit, so that the user's server on port 5037 is never touched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..errors import EmufarmError
from .deadline import Deadline, DeadlineSocket, deaf, dial
from .faults import DeviceFault, adb_fault
from .presence import DeviceGone
from .shell_protocol import check_size, run_command


@dataclass(frozen=True)
class ShellResult:
    """The complete result of a command; there is no ShellResult without an exit code."""

    command: str
    stdout: bytes
    stderr: bytes
    exit_code: int

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True)
class Exchange:
    """One request with its response, as it happened, for a listener."""

    kind: str  # shell | exec | host | console
    request: str
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    fault: str | None
    seconds: float


Listener = Callable[[Exchange], None]
T = TypeVar("T")


class AdbSocket:
    """Access to one phone, by its serial and the port of its adb server."""

    def __init__(
        self,
        serial: str,
        server_port: int,
        listener: Listener | None = None,
        listening: Callable[[], None] = deaf,
    ) -> None:
        self.serial = serial
        self.server_port = server_port
        self.listener = listener
        self._listening = listening

    def shell(self, command: str, *, stdin: bytes = b"", timeout: float = 30.0) -> ShellResult:
        """Runs a command line in the phone's shell. A missing exit packet is a fault."""
        out, err = bytearray(), bytearray()

        def exchange(deadline: Deadline) -> int:
            with self._open(f"shell,v2,raw:{command}", deadline) as connection:
                return run_command(connection, stdin, out, err)

        code = self._record("shell", command, exchange, timeout, out, err)
        return ShellResult(command, bytes(out), bytes(err), code)

    def exec_out(self, command: str, *, timeout: float = 30.0) -> bytes:
        """A command's raw stdout. There is no exit code, so the caller must check the data."""
        out = bytearray()

        def exchange(deadline: Deadline) -> None:
            with self._open(f"exec:{command}", deadline) as connection:
                while piece := connection.recv(1 << 18):
                    out.extend(piece)
                    check_size(out)

        self._record("exec", command, exchange, timeout, out)
        return bytes(out)

    def host(self, request: str, *, timeout: float = 5.0) -> str:
        """Sends a request to the adb server itself and returns the text of its answer."""
        out = bytearray()

        def exchange(deadline: Deadline) -> None:
            with dial(self.server_port, deadline) as connection:
                _request(connection, request)
                out.extend(_block(connection))

        self._record("host", request, exchange, timeout, out)
        return out.decode("utf-8", "replace")

    def state(self, *, timeout: float = 5.0) -> str:
        """`device`, `offline`, ...; a fault if the server does not know the serial."""
        return self.host(f"host-serial:{self.serial}:get-state", timeout=timeout)

    def features(self) -> frozenset[str]:
        return frozenset(self.host(f"host-serial:{self.serial}:features").split(","))

    def server_version(self) -> int:
        text = self.host("host:version")
        if not re.fullmatch(r"[0-9a-f]{4}", text):
            raise DeviceFault("bad_answer", f"not a version: {text!r}", during="host:version")
        return int(text, 16)

    def transport_id(self, *, timeout: float = 5.0) -> int:
        """The number of the phone's current connection; it changes when the phone reconnects."""
        out = bytearray()

        def exchange(deadline: Deadline) -> int:
            with dial(self.server_port, deadline) as connection:
                number = _choose(connection, self.serial)
                out.extend(str(number).encode())
                return number

        return self._record("host", f"host:tport:serial:{self.serial}", exchange, timeout, out)

    def reconnect(self) -> str:
        """Drops the phone's connection so that the server makes a new one; returns its message."""
        request = f"host-serial:{self.serial}:reconnect"
        text = self.host(request).strip()
        # A refusal follows OKAY as well.
        if not text.startswith("reconnecting"):
            raise adb_fault(text, request)
        return text

    def announce(self, adb_port: int, *, timeout: float = 5.0) -> None:
        """Announces the emulator to the server again, which never answers this request."""
        request = f"host:emulator:{adb_port}"

        def exchange(deadline: Deadline) -> None:
            with dial(self.server_port, deadline) as connection:
                connection.send(_framed(request))

        self._record("host", request, exchange, timeout)

    def _open(self, service: str, deadline: Deadline) -> DeadlineSocket:
        connection = dial(self.server_port, deadline)
        try:
            _choose(connection, self.serial)
            _request(connection, service)
        except BaseException:
            connection.close()
            raise
        return connection

    def _record(
        self,
        kind: str,
        request: str,
        exchange: Callable[[Deadline], T],
        timeout: float,
        out: bytes | bytearray = b"",
        err: bytes | bytearray = b"",
    ) -> T:
        """Runs the exchange within the time-out; informs the listener; every error is a fault."""
        started = time.monotonic()
        fault: EmufarmError | None = None
        answer: T | None = None
        try:
            answer = exchange(Deadline(timeout, self._listening))
            return answer
        except (DeviceFault, OSError) as error:
            fault = self._fault(error, request, timeout)
            raise fault from error
        except DeviceGone as gone:
            fault = gone
            raise
        finally:
            listener = self.listener  # read once: another thread may reset it
            if listener is not None:
                code = answer if kind == "shell" and isinstance(answer, int) else None
                text = None if fault is None else str(fault)
                seconds = time.monotonic() - started
                listener(Exchange(kind, request, bytes(out), bytes(err), code, text, seconds))

    def _fault(self, error: DeviceFault | OSError, request: str, timeout: float) -> DeviceFault:
        if isinstance(error, DeviceFault):
            return DeviceFault(error.reason, error.text, during=request)
        if isinstance(error, TimeoutError):
            return DeviceFault("timeout", f"no whole answer within {timeout:g} s", during=request)
        if isinstance(error, ConnectionRefusedError):
            text = f"cannot connect to daemon at tcp:{self.server_port}: {error}"
            return DeviceFault("adb_server", text, during=request)
        return DeviceFault("transport_closed", str(error), during=request)


def _framed(request: str) -> bytes:
    try:
        data = request.encode()
    except UnicodeEncodeError as error:
        raise DeviceFault("adb_refused", f"not valid text: {error}") from error
    if b"\0" in data:
        text = "a request may contain no NUL: the phone would ignore the rest"
        raise DeviceFault("adb_refused", text)
    if len(data) > 0xFFFF:
        raise DeviceFault("adb_refused", f"a request of {len(data)} bytes does not fit adb's frame")
    return b"%04x" % len(data) + data


def _choose(connection: DeadlineSocket, serial: str) -> int:
    """Binds the connection to the phone; returns the number of the phone's connection."""
    _request(connection, f"host:tport:serial:{serial}")
    number = connection.read_exactly(8)
    if len(number) < 8:
        raise DeviceFault("transport_closed", "the adb server closed before it named the transport")
    return int.from_bytes(number, "little")


def _request(connection: DeadlineSocket, request: str) -> None:
    connection.send(_framed(request))
    status = connection.read_exactly(4)
    if status == b"FAIL":
        raise adb_fault(_block(connection).decode("utf-8", "replace"))
    if len(status) < 4:
        raise DeviceFault("transport_closed", "protocol fault (couldn't read status)")
    if status != b"OKAY":
        raise DeviceFault("bad_answer", f"not an answer of an adb server: {status!r}")


def _block(connection: DeadlineSocket) -> bytes:
    size = connection.read_exactly(4)
    if not re.fullmatch(rb"[0-9a-fA-F]{4}", size):
        raise DeviceFault("transport_closed", f"not a length: {size!r}")
    count = int(size, 16)
    data = connection.read_exactly(count)
    if len(data) < count:
        raise DeviceFault("transport_closed", f"{len(data)} of {count} bytes arrived")
    return data
