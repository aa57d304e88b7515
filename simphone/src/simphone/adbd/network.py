"""Where does a connection made inside the phone lead, and who listens in there?

The phone has no network of its own, so its ports are a table, never sockets on the host:
127.0.0.1 is the table (guest programs that listen, and what `adb reverse` put there), 10.0.2.2
is the host's loopback, everything else is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from ..streams import CHUNK, Pipe

HOST_LOOPBACK = "10.0.2.2"
GUEST_LOOPBACK = ("127.0.0.1", "localhost", "::1")
CONNECT_S = 10.0
# Where a listener that does not care for its number is put, as Linux does.
EPHEMERAL = range(32768, 61000)


class Wire(Protocol):
    """One end of a connection. Source and Sink; `close` after the last write, once."""

    async def read(self, limit: int = CHUNK) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


Serve = Callable[[Wire], Awaitable[None]]
Dial = Callable[[], Awaitable[Wire]]


class HostWire:
    """A connection to a program on the host."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, limit: int = CHUNK) -> bytes:
        return await self._reader.read(limit)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


class GuestWire:
    """One end of a connection between two programs in the phone."""

    def __init__(self, inbound: Pipe, outbound: Pipe) -> None:
        self._inbound = inbound
        self._outbound = outbound
        self._closing: asyncio.Task[None] | None = None

    async def read(self, limit: int = CHUNK) -> bytes:
        return await self._inbound.read(limit)

    async def write(self, data: bytes) -> None:
        await self._outbound.write(data)

    def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())

    async def _close(self) -> None:
        await self._outbound.end()
        await self._inbound.abandon()


class GuestNetwork:
    def __init__(self) -> None:
        self._dials: dict[int, Dial] = {}
        self._serving: set[asyncio.Future[None]] = set()

    def listening(self, port: int) -> bool:
        return port in self._dials

    def listen(self, port: int, serve: Serve) -> int:
        """A guest program answers on this port (0: any); OSError where one already does."""

        async def dial() -> Wire:
            there, back = Pipe(), Pipe()
            task = asyncio.ensure_future(serve(GuestWire(there, back)))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
            return GuestWire(back, there)

        return self.bind(port, dial)

    def bind(self, port: int, dial: Dial) -> int:
        if port == 0:
            port = next(p for p in EPHEMERAL if p not in self._dials)
        if port in self._dials:
            raise OSError("Address already in use")
        self._dials[port] = dial
        return port

    def unlisten(self, port: int) -> None:
        self._dials.pop(port, None)

    async def connect(self, host: str, port: int) -> Wire:
        """ConnectionRefusedError where nobody listens; bounded."""
        if host in GUEST_LOOPBACK and port in self._dials:
            return await self._dials[port]()
        if host == HOST_LOOPBACK and 0 < port < 65536:
            try:
                async with asyncio.timeout(CONNECT_S):
                    return HostWire(*await asyncio.open_connection("127.0.0.1", port))
            except (OSError, TimeoutError) as error:
                raise ConnectionRefusedError(f"{host}:{port}: {error}") from error
        raise ConnectionRefusedError(f"{host}:{port}: Connection refused")

    async def stop(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


async def _said(source: Wire) -> bytes:
    """The next bytes; empty at the end, and where the connection was reset."""
    try:
        return await source.read()
    except OSError:
        return b""


async def join(one: Wire, other: Wire) -> None:
    """Carry bytes both ways until all that either side said before its end has been carried.

    A side that no longer takes bytes may have said some before it left, so a write that fails
    does not end the other way.
    """

    async def carry(source: Wire, sink: Wire) -> bool:
        """True at the source's end, False where the sink has gone."""
        while data := await _said(source):
            try:
                await sink.write(data)
            except OSError:
                return False
        return True

    tasks = [asyncio.create_task(carry(one, other)), asyncio.create_task(carry(other, one))]
    try:
        for ended in asyncio.as_completed(tasks):
            if await ended:
                break
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        one.close()
        other.close()
