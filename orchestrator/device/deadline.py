"""A deadline for a whole call, and a socket that obeys it.

A socket's own time-out restarts with every read, so a peer that sends byte by byte would block us
forever.
"""

from __future__ import annotations

import math
import socket
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Deadline:
    """A point in monotonic time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; TimeoutError once there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {self.seconds:g} s")
        return left

    def share(self, seconds: float = math.inf) -> float:
        """The time for one step: `seconds`, or what is left if that is less; 0 after the end."""
        return max(0.0, min(seconds, self._end - time.monotonic()))

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end


class DeadlineSocket(socket.socket):
    """A connection whose operations share one deadline and whose `send` sends all data."""

    deadline: Deadline

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        self.settimeout(self.deadline.left())
        return super().recv(bufsize, flags)

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0, /) -> int:
        self.settimeout(self.deadline.left())
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: bytes, flags: int = 0, /) -> int:  # type: ignore[override]
        """Sends all data: with a time-out set, a plain send may stop half-way."""
        self.sendall(data, flags)
        return len(data)

    def sendall(self, data: ReadableBuffer, flags: int = 0, /) -> None:
        self.settimeout(self.deadline.left())
        super().sendall(data, flags)

    def send_some(self, data: memoryview) -> int:
        """Sends as much as fits now and returns the number of bytes, possibly 0."""
        self.settimeout(0)
        try:
            return super().send(data)
        except BlockingIOError:
            return 0

    def read_exactly(self, count: int) -> bytes:
        """Returns fewer bytes only if the peer has closed."""
        pieces = []
        while count > 0:
            piece = self.recv(min(count, 1 << 16))
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def dial(port: int, deadline: Deadline) -> DeadlineSocket:
    """Opens a connection to a loopback port. The caller closes it."""
    return connect(("127.0.0.1", port), deadline)


def connect(
    address: tuple[Any, ...], deadline: Deadline, family: int = socket.AF_INET
) -> DeadlineSocket:
    """Opens a connection to a socket address. The caller closes it."""
    connection = DeadlineSocket(family, socket.SOCK_STREAM)
    connection.deadline = deadline
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(deadline.left())
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection
