"""How is the emulator's console asked, over TCP?

Not through `adb emu`: it ends with 0 on `KO`, and with an empty token file prints nothing at all.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from .adb_socket import Exchange, Listener
from .deadline import Deadline, DeadlineSocket, dial
from .faults import DeviceFault

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SNAPSHOT_SECONDS = 120.0
_REPLY_LIMIT = 4 * 1024 * 1024
# The last line of a reply: `OK`, `OK: ...`, or `KO: ...` lines, of which more may follow.
_DONE = re.compile(rb"(?:^|\n)(?:OK(?:: [^\r\n]*)?|KO:[^\r\n]*)\r?\n\Z")


@dataclass(frozen=True)
class ConsoleReply:
    """What the console said to one command."""

    words: str  # all of it, the final `OK` included
    value: str  # the lines before that


@dataclass(frozen=True)
class SnapshotRow:
    tag: str
    size: str
    date: str
    clock: str


def check_tag(tag: str) -> str:
    """The console quotes nothing, so a tag must be one plain word."""
    if not TAG.fullmatch(tag):
        raise DeviceFault("snapshot_failed", f"not a snapshot's name: {tag!r}")
    return tag


def parse_snapshots(text: str) -> tuple[SnapshotRow, ...]:
    """`avd snapshot list`: columns run into each other on the left, so rows are read from the
    right; a reply that is neither a list nor the empty one is a fault."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if lines == ["There is no snapshot available."]:
        return ()
    if not lines:
        raise DeviceFault("bad_answer", "the console lists nothing, not even that there is none")
    rows = []
    for line in lines:
        if line.startswith(("List of", "ID ")):
            continue
        words = line.split()
        if len(words) < 6:
            raise DeviceFault("bad_answer", f"not a row of snapshots: {line!r}")
        _, *tag, size, day, hour, clock = words
        rows.append(SnapshotRow(" ".join(tag), size, f"{day} {hour}", clock))
    return tuple(rows)


class Console:
    """One emulator's console. A connection per command: the emulator may be gone in between."""

    def __init__(self, port: int, token: str, listener: Listener | None = None) -> None:
        self.port = port
        self._token = token
        self.listener = listener

    def ask(self, command: str, *, authenticated: bool = True, timeout: float = 10.0) -> str:
        """The reply's lines before `OK`; a `KO` is a fault with the console's own words."""
        return self.say(command, authenticated=authenticated, timeout=timeout).value

    def say(
        self, command: str, *, authenticated: bool = True, timeout: float = 10.0
    ) -> ConsoleReply:
        """The same, with all the words."""
        started = time.monotonic()
        words, fault = "", None
        try:
            reply = self._speak(command, authenticated, Deadline(timeout))
            words = reply.words
            return reply
        except DeviceFault as error:
            words = error.text if error.reason == "console_refused" else ""
            fault = DeviceFault(error.reason, error.text, during=f"console {command}")
            raise fault from error
        except TimeoutError as error:
            text = f"no whole reply within {timeout:g} s"
            fault = DeviceFault("timeout", text, during=f"console {command}")
            raise fault from error
        except OSError as error:
            fault = DeviceFault("console_unreachable", str(error), during=f"console {command}")
            raise fault from error
        finally:
            listener = self.listener  # once: another thread may end it meanwhile
            if listener is not None:
                told = None if fault is None else str(fault)
                seconds = time.monotonic() - started
                listener(Exchange("console", command, words.encode(), b"", None, told, seconds))

    def _speak(self, command: str, authenticated: bool, deadline: Deadline) -> ConsoleReply:
        if "\n" in command or "\r" in command:
            raise DeviceFault("console_refused", f"a command is one line: {command!r}")
        try:
            line = f"{command}\n".encode()
        except UnicodeEncodeError as error:
            raise DeviceFault("console_refused", f"not a text: {error}") from error
        with dial(self.port, deadline) as connection:
            greeting = _reply(connection)
            if authenticated and "Authentication required" in greeting.value:
                connection.send(f"auth {self._token}\n".encode())
                _reply(connection)
            connection.send(line)
            return _reply(connection, closing=command == "kill")

    def ping(self) -> str:
        return self.ask("ping")

    def avd_name(self) -> str:
        return self.ask("avd name")

    def avd_status(self) -> str:
        """`virtual device is running` or `virtual device is stopped`."""
        return self.ask("avd status")

    def snapshots(self) -> tuple[SnapshotRow, ...]:
        return parse_snapshots(self.ask("avd snapshot list", timeout=SNAPSHOT_SECONDS))

    def loaded_snapshot(self) -> str | None:
        """The tag last loaded; None before the first."""
        tag = self.ask("avd snapshot get")
        return None if tag in ("(null)", "") else tag

    def load_snapshot(self, tag: str) -> str:
        """The console's words; they only acknowledge: see snapshot.py for what proves a load."""
        return self._snapshot(load_command(tag))

    def save_snapshot(self, tag: str) -> None:
        self._snapshot(f"avd snapshot save {check_tag(tag)}")

    def delete_snapshot(self, tag: str) -> None:
        self._snapshot(f"avd snapshot del {check_tag(tag)}")

    def _snapshot(self, command: str) -> str:
        try:
            return self.say(command, timeout=SNAPSHOT_SECONDS).words
        except DeviceFault as fault:
            if fault.reason != "console_refused":
                raise
            raise DeviceFault("snapshot_failed", fault.text, during=command) from fault

    def send_sms(self, number: str, text: str) -> None:
        """A message to the phone, which takes it in its own time."""
        if not re.fullmatch(r"[+]?[0-9*#]+", number):
            raise DeviceFault("console_refused", f"not a phone number: {number!r}")
        if not text or "\r" in text:
            raise DeviceFault("console_refused", "a message has text and no carriage return")
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        self.ask(f"sms send {number} {escaped}")

    def gsm(self, verb: str, number: str) -> None:
        """`call`, `accept` or `cancel` a call with a number."""
        if verb not in ("call", "accept", "cancel") or not re.fullmatch(r"[+]?[0-9*#]+", number):
            raise DeviceFault("console_refused", f"not a call: gsm {verb} {number!r}")
        self.ask(f"gsm {verb} {number}")

    def kill(self) -> None:
        self.ask("kill")


def load_command(tag: str) -> str:
    return f"avd snapshot load {check_tag(tag)}"


def _reply(connection: DeadlineSocket, *, closing: bool = False) -> ConsoleReply:
    """Lines up to the final `OK`; KO lines are gathered until the console falls silent."""
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
    """A refusal may take several lines in several writes, and nothing says which is the last.

    A command that the console always answers at once marks the end.
    """
    data = bytearray()
    connection.deadline = Deadline(connection.deadline.share(2))
    try:
        connection.send(b"ping\n")
        while b"I am alive!" not in data and (piece := connection.recv(4096)):
            data += piece
    except (ConnectionError, TimeoutError):
        pass  # that it refused is known already; only its further words are lost
    return [line for line in data.decode("utf-8", "replace").split("\r\n") if line[:3] == "KO:"]
