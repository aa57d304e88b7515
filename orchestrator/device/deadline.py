"""A deadline for a whole call, and a socket that obeys it.

A socket's own time-out restarts with every read, so a peer that sends byte by byte would block us
forever. A deadline may also listen: `listening` is called before each wait and every STEP_S of it,
and what it raises ends the call.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


STEP_S = 0.5  # of a wait, before the deadline listens again
T = TypeVar("T")


def deaf() -> None:
    """Hears nothing."""


class Deadline:
    """A point in monotonic time."""

    def __init__(self, seconds: float, listening: Callable[[], None] = deaf) -> None:
        self.seconds = seconds
        self.listening = listening
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; TimeoutError once there are none."""
        self.listening()
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {self.seconds:g} s")
        return left

    def step(self) -> float:
        """As `left`, but no more than one step of a wait."""
        return min(self.left(), STEP_S)

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
        return self._in_steps(partial(socket.socket.recv, self, bufsize, flags))

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0, /) -> int:
        return self._in_steps(partial(socket.socket.recv_into, self, buffer, nbytes, flags))

    def send(self, data: bytes, flags: int = 0, /) -> int:  # type: ignore[override]
        """Sends all data: with a time-out set, a plain send may stop half-way."""
        self.sendall(data, flags)
        return len(data)

    def sendall(self, data: ReadableBuffer, flags: int = 0, /) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self._in_steps(partial(socket.socket.send, self, rest, flags)) :]

    def _in_steps(self, act: Callable[[], T]) -> T:
        while True:
            self.settimeout(self.deadline.step())
            try:
                return act()
            except TimeoutError:  # of this step; the deadline says whether there is another
                continue

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
        connection.settimeout(0)
        _connect(connection, address, deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(connection: DeadlineSocket, address: tuple[Any, ...], deadline: Deadline) -> None:
    code = connection.connect_ex(address)
    if code == errno.EINPROGRESS:
        waiting = select.poll()
        waiting.register(connection, select.POLLOUT)
        while not waiting.poll(deadline.step() * 1000):
            pass
        code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))  # its subclass for this code
