"""A client of the emulator's console over TCP: snapshots, messages, calls.

`adb emu` is not used, because it exits with 0 on `KO` and prints nothing if the token file is
empty.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ..errors import EmufarmError
from .adb_socket import Exchange, Listener
from .deadline import Deadline, DeadlineSocket, deaf, dial
from .faults import DeviceFault
from .presence import DeviceGone

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SNAPSHOT_SECONDS = 120.0
_REPLY_LIMIT = 4 * 1024 * 1024
# The last line of a reply: `OK`, `OK: ...`, or `KO: ...` lines, of which more may follow.
_DONE = re.compile(rb"(?:^|\n)(?:OK(?:: [^\r\n]*)?|KO:[^\r\n]*)\r?\n\Z")


@dataclass(frozen=True)
class ConsoleReply:
    """The console's reply to one command."""

    text: str  # the whole reply, the final `OK` included
    value: str  # the lines before that


@dataclass(frozen=True)
class SnapshotRow:
    tag: str
    size: str
    date: str
    clock: str


def check_tag(tag: str) -> str:
    """The console has no quoting, so a tag must be one plain word."""
    if not TAG.fullmatch(tag):
        raise DeviceFault("snapshot_failed", f"not a snapshot name: {tag!r}")
    return tag


def parse_snapshots(text: str) -> tuple[SnapshotRow, ...]:
    """Parses `avd snapshot list`. Columns run into each other on the left, so rows are read from
    the right. A reply that is neither a list nor the message for an empty one is a fault."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if lines == ["There is no snapshot available."]:
        return ()
    if not lines:
        raise DeviceFault("bad_answer", "the console's list of snapshots is blank")
    rows = []
    for line in lines:
        if line.startswith(("List of", "ID ")):
            continue
        words = line.split()
        if len(words) < 6:
            raise DeviceFault("bad_answer", f"not a snapshot row: {line!r}")
        _, *tag, size, day, hour, clock = words
        rows.append(SnapshotRow(" ".join(tag), size, f"{day} {hour}", clock))
    return tuple(rows)


class Console:
    """One emulator's console; a connection per command, since it may end between two."""

    def __init__(self, port: int, token: str, listener: Listener | None = None) -> None:
        self.port = port
        self._token = token
        self.listener = listener
        self.listening: Callable[[], None] = deaf

    def ask(self, command: str, *, authenticated: bool = True, timeout: float = 10.0) -> str:
        """The reply's lines before `OK`. A `KO` is a fault with the console's own text."""
        return self.send(command, authenticated=authenticated, timeout=timeout).value

    def send(
        self, command: str, *, authenticated: bool = True, timeout: float = 10.0
    ) -> ConsoleReply:
        """Like `ask`, but returns the whole reply."""
        started = time.monotonic()
        output = ""
        fault: EmufarmError | None = None
        try:
            reply = self._exchange(command, authenticated, Deadline(timeout, self.listening))
            output = reply.text
            return reply
        except DeviceFault as error:
            output = error.text if error.reason == "console_refused" else ""
            fault = DeviceFault(error.reason, error.text, during=f"console {command}")
            raise fault from error
        except TimeoutError as error:
            text = f"no whole reply within {timeout:g} s"
            fault = DeviceFault("timeout", text, during=f"console {command}")
            raise fault from error
        except OSError as error:
            fault = DeviceFault("console_unreachable", str(error), during=f"console {command}")
            raise fault from error
        except DeviceGone as gone:
            fault = gone
            raise
        finally:
            listener = self.listener  # read once: another thread may reset it
            if listener is not None:
                problem = None if fault is None else str(fault)
                seconds = time.monotonic() - started
                listener(Exchange("console", command, output.encode(), b"", None, problem, seconds))

    def _exchange(self, command: str, authenticated: bool, deadline: Deadline) -> ConsoleReply:
        if "\n" in command or "\r" in command:
            raise DeviceFault("console_refused", f"a command is one line: {command!r}")
        try:
            line = f"{command}\n".encode()
        except UnicodeEncodeError as error:
            raise DeviceFault("console_refused", f"not valid text: {error}") from error
        with dial(self.port, deadline) as connection:
            greeting = _reply(connection)
            if authenticated and "Authentication required" in greeting.value:
                connection.send(f"auth {self._token}\n".encode())
                _reply(connection)
            connection.send(line)
            return _reply(connection, closing=command == "kill")

    def avd_name(self) -> str:
        return self.ask("avd name")

    def avd_status(self) -> str:
        """`virtual device is running` or `virtual device is stopped`."""
        return self.ask("avd status")

    def snapshots(self) -> tuple[SnapshotRow, ...]:
        return parse_snapshots(self.ask("avd snapshot list", timeout=SNAPSHOT_SECONDS))

    def loaded_snapshot(self) -> str | None:
        """The tag that was loaded last; None before the first load."""
        tag = self.ask("avd snapshot get")
        return None if tag in ("(null)", "") else tag

    def load_snapshot(self, tag: str) -> str:
        """The console's reply. It only acknowledges the command; snapshot.py proves the load."""
        return self._snapshot(load_command(tag))

    def save_snapshot(self, tag: str) -> None:
        self._snapshot(f"avd snapshot save {check_tag(tag)}")

    def delete_snapshot(self, tag: str) -> None:
        self._snapshot(f"avd snapshot del {check_tag(tag)}")

    def _snapshot(self, command: str) -> str:
        try:
            return self.send(command, timeout=SNAPSHOT_SECONDS).text
        except DeviceFault as fault:
            if fault.reason != "console_refused":
                raise
            raise DeviceFault("snapshot_failed", fault.text, during=command) from fault

    def send_sms(self, number: str, text: str) -> None:
        """Sends a message to the phone, which receives it some time later."""
        if not re.fullmatch(r"[+]?[0-9*#]+", number):
            raise DeviceFault("console_refused", f"not a phone number: {number!r}")
        if not text or "\r" in text:
            why = "a message needs text and may have no carriage return"
            raise DeviceFault("console_refused", why)
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        self.ask(f"sms send {number} {escaped}")

    def kill(self) -> None:
        with suppress(DeviceGone):  # sooner than it was answered
            self.ask("kill")


def load_command(tag: str) -> str:
    return f"avd snapshot load {check_tag(tag)}"


def _reply(connection: DeadlineSocket, *, closing: bool = False) -> ConsoleReply:
    """Reads lines up to the final `OK`; all KO lines of a refusal are collected."""
    data = bytearray()
    while not _DONE.search(data[-4096:] if len(data) > 4096 else data):
        piece = connection.recv(65536)
        if not piece:
            if closing and data.strip():
                break
            raise DeviceFault("console_closed", f"the console closed after {bytes(data[-200:])!r}")
        data += piece
        if len(data) > _REPLY_LIMIT:
            raise DeviceFault("output_too_large", f"a reply of more than {_REPLY_LIMIT} bytes")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
    lines = text.split("\n")
    refusals = [line for line in lines if line.startswith("KO:")]
    if refusals:
        raise DeviceFault("console_refused", "\n".join([*refusals, *_more_refusals(connection)]))
    last = lines.pop()
    return ConsoleReply(text, "\n".join([*lines, last[4:]] if last.startswith("OK: ") else lines))


def _more_refusals(connection: DeadlineSocket) -> list[str]:
    """The remaining KO lines of a refusal, which may come in several writes with no end marker: a
    `ping`, which the console always answers at once, marks it."""
    data = bytearray()
    connection.deadline = Deadline(connection.deadline.share(2))
    try:
        connection.send(b"ping\n")
        while b"I am alive!" not in data and (piece := connection.recv(4096)):
            data += piece
    except (ConnectionError, TimeoutError):
        pass  # the refusal is known already; only its remaining lines are lost
    return [line for line in data.decode("utf-8", "replace").split("\r\n") if line[:3] == "KO:"]
