"""One conversation on an adb connection: bytes both ways, one packet in flight each way.

adb's flow control: after a WRTE the sender waits for the OKAY. What the phone writes meanwhile is
gathered and goes out as one packet; what the host sends is acknowledged while there is room.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from ..streams import CHUNK
from .packets import CLSE, OKAY, WRTE

if TYPE_CHECKING:
    from .transport import Connection

INBOUND_ROOM = 1024 * 1024
OUTBOUND_ROOM = 1024 * 1024


class Stream:
    """Both a Source and a Sink. Writing raises BrokenPipeError once the host has closed."""

    def __init__(self, connection: Connection, local: int, remote: int) -> None:
        self.connection = connection
        self.local = local
        self.remote = remote  # 0 until the host has answered our OPEN
        self.closed = False  # the host closed it, or the connection is gone
        self.linger_s = 0.0  # how long its service may go on after the host has closed it
        self._closing = False  # the phone has said its last byte
        self._inbound: deque[memoryview] = deque()
        self._queued = 0
        self._owes_okay = False
        self._arrived = asyncio.Event()
        self._outbound = bytearray()
        self._may_send = False
        self._sent = asyncio.Event()

    async def chunk(self, limit: int = CHUNK) -> memoryview:
        """What has arrived, without copying it, at most `limit`; empty at the end."""
        while not self._inbound:
            if self.closed or self._closing:
                return memoryview(b"")
            self._arrived.clear()
            await self._arrived.wait()
        first = self._inbound[0]
        if len(first) <= limit:
            self._inbound.popleft()
        else:
            self._inbound[0] = first[limit:]
            first = first[:limit]
        self._queued -= len(first)
        if self._owes_okay and self._queued < INBOUND_ROOM:
            self._acknowledge()
        return first

    async def read(self, limit: int = CHUNK) -> bytes:
        return bytes(await self.chunk(limit))

    async def exactly(self, size: int) -> bytes:
        """`size` bytes; EOFError where the stream ends before."""
        data = b""
        while len(data) < size:
            more = await self.chunk(size - len(data))
            if not more:
                raise EOFError(f"the stream ended {size - len(data)} bytes early")
            data += more
        return data

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        self._check_open()
        self._outbound += data
        self._send()
        while len(self._outbound) >= OUTBOUND_ROOM:
            await self._next_sent()

    async def flushed(self) -> None:
        """Wait until the host has taken everything written."""
        while self._outbound or not self._may_send:
            await self._next_sent()

    async def answered(self) -> bool:
        """Whether the host accepted our OPEN. It may have said all and closed by the time we look:
        what it said is still to be read."""
        while not self.remote and not self.closed:
            self._sent.clear()
            await self._sent.wait()
        return self.remote != 0

    def close(self) -> None:
        """Say goodbye after what is written has gone out; what the host still sends is ignored."""
        if self.closed or self._closing:
            return
        self._closing = True
        self._inbound.clear()
        self._queued = 0
        self._arrived.set()
        if self._owes_okay:
            self._acknowledge()
        self._finish()

    def ready(self) -> None:
        """The host took our last packet (or accepted our OPEN)."""
        self._may_send = True
        self._send()
        self._sent.set()
        if self._closing:
            self._finish()

    def receive(self, payload: bytes | bytearray) -> bool:
        """False where the host did not wait for its OKAY."""
        if self._owes_okay:
            return False
        self._owes_okay = True
        if self._closing or not payload:
            self._acknowledge()
            return True
        self._inbound.append(memoryview(payload))
        self._queued += len(payload)
        self._arrived.set()
        if self._queued < INBOUND_ROOM:
            self._acknowledge()
        return True

    def end(self) -> None:
        """The host closed: what has arrived can still be read, nothing more can be written."""
        self.closed = True
        self._outbound.clear()
        self._arrived.set()
        self._sent.set()

    def _check_open(self) -> None:
        if self.closed or self._closing:
            raise BrokenPipeError("the host closed the stream")

    async def _next_sent(self) -> None:
        self._check_open()
        self._sent.clear()
        await self._sent.wait()
        self._check_open()

    def _acknowledge(self) -> None:
        self._owes_okay = False
        if not self.closed:
            self.connection.send(OKAY, self.local, self.remote)

    def _send(self) -> None:
        if not (self._may_send and self._outbound):
            return
        self._may_send = False
        limit = self.connection.max_payload
        if len(self._outbound) <= limit:
            packet, self._outbound = self._outbound, bytearray()
        else:
            packet = self._outbound[:limit]
            del self._outbound[:limit]
        self.connection.send(WRTE, self.local, self.remote, packet)

    def _finish(self) -> None:
        if not self.closed and self._may_send and not self._outbound:
            self.end()
            self.connection.forget(self)
            self.connection.send(CLSE, self.local, self.remote)
