"""File transfer, port forwarding and the adb binary, all by means of adbutils.

The only module that imports adbutils. By default a failed connect of adbutils starts an adb server
on the user's default port, a transfer has no time-out, and with a time-out a push may send half a
chunk. The connection class below prevents all three.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

import adbutils
from adbutils._adb import AdbConnection
from adbutils.errors import AdbError, AdbTimeout

from .deadline import Deadline, DeadlineSocket, deaf, dial
from .faults import DeviceFault, classify

T = TypeVar("T")
_CHUNK = 64 * 1024  # the most that one DATA may carry
# The messages of adbutils for a connection that ended early.
_CUT_OFF = re.compile(
    r"^Invalid sync cmd\s*$|chunk missing|connection closed|b''$|^Expected \d+ bytes"
)


class _Connection(AdbConnection):
    def __init__(self, port: int, deadline: Deadline) -> None:
        self._dial: Callable[[], DeadlineSocket] = lambda: dial(port, deadline)
        super().__init__("127.0.0.1", port)

    def _safe_connect(self) -> DeadlineSocket:
        """A missing server is an error and never a reason to start one."""
        return self._dial()


class _Client(adbutils.AdbClient):
    def __init__(self, port: int, deadline: Deadline) -> None:
        super().__init__(host="127.0.0.1", port=port)
        self._deadline = deadline
        self._made: list[AdbConnection] = []

    def make_connection(self, timeout: float | None = None) -> AdbConnection:
        """Uses the deadline of the whole call instead of a time-out for each connection."""
        self._made.append(_Connection(self.port, self._deadline))
        return self._made[-1]

    def close(self) -> None:
        """Closes what adbutils leaves open when a request is refused."""
        for connection in self._made:
            connection.close()  # type: ignore[no-untyped-call]


def _send(phone: adbutils.AdbDevice, file: BinaryIO, path: str) -> int:
    """Implements SEND here because the push of adbutils drops the phone's reason for a refusal."""
    total = 0
    with phone.open_transport() as connection:
        connection.send_command("sync:")
        connection.check_okay()
        name = path.encode()
        connection.send(b"SEND" + struct.pack("<I", len(name)) + name)
        try:
            while piece := file.read(_CHUNK):
                connection.send(b"DATA" + struct.pack("<I", len(piece)) + piece)
                total += len(piece)
            connection.send(b"DONE" + struct.pack("<I", int(time.time()) & 0xFFFFFFFF))
        except ConnectionError:
            pass  # refused half-way; the reply, read next, has the reason
        status = connection.read_exact(4)
        length = connection.read_uint32()
        if status != b"OKAY":
            text = connection.read(min(length, _CHUNK)).decode("utf-8", "replace")
            raise AdbError(text or f"unexpected reply to a push: {status!r}")
    return total


class Adb:
    """File transfer and port forwarding for one phone."""

    def __init__(self, serial: str, server_port: int, listening: Callable[[], None] = deaf) -> None:
        self.serial = serial
        self.server_port = server_port
        self._listening = listening

    def push(self, source: Path | bytes, target: str, *, timeout: float) -> int:
        """Writes the file `target`, not a folder, checks its size and returns the bytes sent."""

        def send(phone: adbutils.AdbDevice) -> int:
            if stat.S_ISDIR(phone.sync.stat(target).mode):
                raise AdbError(f"{target} is a folder")
            with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
                sent = _send(phone, file, f"{target},{stat.S_IFREG | 0o644}")
            size = phone.sync.stat(target).size
            if size != sent % 2**32:
                raise AdbError(f"{size} of {sent} bytes arrived in {target}")
            return sent

        return self._call(f"push {target}", timeout, send)

    def pull(self, source: str, target: Path, *, timeout: float) -> int:
        """Copies the phone's file to `target`, whole or not at all; returns the number of bytes."""
        part = target.with_name(f".{target.name}.part")

        def receive(phone: adbutils.AdbDevice) -> int:
            size: int = phone.sync.pull_file(source, part)
            part.replace(target)
            return size

        try:
            return self._call(f"pull {source}", timeout, receive)
        finally:
            part.unlink(missing_ok=True)

    def read(self, source: str, *, timeout: float) -> bytes:
        """The content of the phone's file."""
        return self._call(f"pull {source}", timeout, lambda phone: phone.sync.read_bytes(source))

    def forward(self, local: str, remote: str, *, timeout: float = 5.0) -> None:
        """Forwards a port of this host into the phone, such as `tcp:8000` to `tcp:80`."""
        self._call(
            f"forward {local}", timeout, lambda phone: phone.forward(local, remote), "adb_refused"
        )

    def reverse(self, remote: str, local: str, *, timeout: float = 5.0) -> None:
        """Forwards a port of the phone to this host."""
        self._call(
            f"reverse {remote}", timeout, lambda phone: phone.reverse(remote, local), "adb_refused"
        )

    def _call(
        self,
        during: str,
        timeout: float,
        act: Callable[[adbutils.AdbDevice], T],
        refused: str = "sync_refused",
    ) -> T:
        client = _Client(self.server_port, Deadline(timeout, self._listening))
        try:
            return act(client.device(self.serial))
        except (TimeoutError, AdbTimeout) as error:
            raise DeviceFault("timeout", f"not done within {timeout:g} s", during=during) from error
        except ConnectionRefusedError as error:
            text = f"cannot connect to daemon at tcp:{self.server_port}: {error}"
            raise DeviceFault("adb_server", text, during=during) from error
        except struct.error as error:  # adbutils unpacks incomplete answers too
            raise DeviceFault("transport_closed", str(error), during=during) from error
        except (AdbError, EOFError, AssertionError, ValueError) as error:
            # A refusal by adb itself keeps its reason; any other comes from the service.
            text = " ".join(str(part) for part in error.args) or type(error).__name__
            reason = "transport_closed" if _CUT_OFF.search(text) else classify(text)
            reason = refused if reason == "adb_refused" else reason
            raise DeviceFault(reason, text, during=during) from error
        except ConnectionError as error:
            raise DeviceFault("transport_closed", str(error), during=during) from error
        except OSError as error:
            raise DeviceFault("local_file", str(error), during=during) from error
        finally:
            client.close()


def adb_binary() -> Path:
    """The adb that everything uses, since a client of another version kills the server."""
    try:
        return Path(adbutils.adb_path())
    except AdbError as error:
        raise DeviceFault("adb_server", str(error), during="the search for adb") from error


def adb_version() -> str:
    """The text of `adb version`; it needs no server."""
    command = [str(adb_binary()), "version"]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceFault("adb_server", str(error), during="adb version") from error
    return answer.stdout.decode("utf-8", "replace").strip()
