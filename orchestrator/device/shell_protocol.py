"""How do a command's stdin, stdout, stderr and exit code share one connection? (adb's shell v2)"""

from __future__ import annotations

import selectors
import struct

from .deadline import DeadlineSocket
from .faults import DeviceFault

OUTPUT_LIMIT = 256 * 1024 * 1024
_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = 0, 1, 2, 3, 4


def bounded(out: bytearray) -> None:
    if len(out) > OUTPUT_LIMIT:
        raise DeviceFault("output_too_large", f"more than {OUTPUT_LIMIT} bytes came")


def converse(connection: DeadlineSocket, stdin: bytes, out: bytearray, err: bytearray) -> int:
    """Shell v2 packets both ways until the exit packet; its code."""
    sending = _Sending(connection, stdin)
    buffer = bytearray()
    while True:
        sending.until_readable()
        piece = connection.recv(1 << 18)
        if not piece:
            # adb itself would end with 0 here, as if the command had.
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
            bounded(target)


class _Sending:
    """Our stdin on its way, while we must not stop reading: either side's buffer may be full."""

    def __init__(self, connection: DeadlineSocket, stdin: bytes) -> None:
        self._connection = connection
        pieces = (stdin[at : at + 32768] for at in range(0, len(stdin), 32768))
        packets = b"".join(struct.pack("<BI", _STDIN, len(piece)) + piece for piece in pieces)
        # Closed at once: a command that reads its stdin must not wait for ours.
        self._rest = memoryview(packets + struct.pack("<BI", _CLOSE_STDIN, 0))
        if not stdin:
            connection.send(bytes(self._rest))
            self._rest = memoryview(b"")

    def until_readable(self) -> None:
        """Send on until there is something to read."""
        if not self._rest:
            return
        with selectors.DefaultSelector() as selector:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(self._connection, both)
            while self._rest:
                ready = selector.select(self._connection.deadline.left())
                events = ready[0][1] if ready else 0
                if events & selectors.EVENT_READ:
                    return
                if events & selectors.EVENT_WRITE:
                    self._rest = self._rest[self._connection.send_some(self._rest) :]
