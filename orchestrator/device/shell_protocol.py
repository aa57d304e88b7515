"""adb's shell v2 protocol: stdin, stdout, stderr and the exit code over one connection."""

from __future__ import annotations

import selectors
import struct

from .deadline import DeadlineSocket
from .faults import DeviceFault

OUTPUT_LIMIT = 256 * 1024 * 1024
_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = 0, 1, 2, 3, 4


def check_size(out: bytearray) -> None:
    if len(out) > OUTPUT_LIMIT:
        raise DeviceFault("output_too_large", f"more than {OUTPUT_LIMIT} bytes of output")


def run_command(connection: DeadlineSocket, stdin: bytes, out: bytearray, err: bytearray) -> int:
    """Exchanges shell v2 packets until the exit packet; returns the exit code."""
    sending = _StdinSender(connection, stdin)
    buffer = bytearray()
    while True:
        sending.send_until_readable()
        piece = connection.recv(1 << 18)
        if not piece:
            # adb itself would exit with 0 here, as if the command had succeeded.
            text = f"the connection ended after {len(out)} bytes of stdout, without an exit packet"
            raise DeviceFault("shell_truncated", text)
        buffer += piece
        while len(buffer) >= 5:
            kind, length = struct.unpack_from("<BI", buffer)
            known = length == 1 if kind == _EXIT else kind in (_STDOUT, _STDERR)
            if not known or length > OUTPUT_LIMIT:
                raise DeviceFault("bad_answer", f"not a shell packet: {bytes(buffer[:5])!r}")
            if len(buffer) < 5 + length:
                break
            if kind == _EXIT:
                return buffer[5]
            target = out if kind == _STDOUT else err
            target += memoryview(buffer)[5 : 5 + length]
            del buffer[: 5 + length]
            check_size(target)


class _StdinSender:
    """Sends stdin while output is read: if either side only wrote, both buffers could fill up."""

    def __init__(self, connection: DeadlineSocket, stdin: bytes) -> None:
        self._connection = connection
        pieces = (stdin[at : at + 32768] for at in range(0, len(stdin), 32768))
        packets = b"".join(struct.pack("<BI", _STDIN, len(piece)) + piece for piece in pieces)
        # Closed at once: a command that reads its stdin must not wait for more.
        self._rest = memoryview(packets + struct.pack("<BI", _CLOSE_STDIN, 0))
        if not stdin:
            connection.send(bytes(self._rest))
            self._rest = memoryview(b"")

    def send_until_readable(self) -> None:
        """Sends until there is output to read."""
        if not self._rest:
            return
        with selectors.DefaultSelector() as selector:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(self._connection, both)
            while self._rest:
                ready = selector.select(self._connection.deadline.step())
                events = ready[0][1] if ready else 0
                if events & selectors.EVENT_READ:
                    return
                if events & selectors.EVENT_WRITE:
                    self._rest = self._rest[self._connection.send_some(self._rest) :]
