"""Byte streams between programs, shells and adb: read until empty, write until the reader left."""

from __future__ import annotations

import asyncio
from typing import Protocol

CHUNK = 65536
PIPE_LIMIT = 4 * CHUNK


class Source(Protocol):
    async def read(self, limit: int = CHUNK) -> bytes:
        """At most `limit` bytes; empty at the end."""
        ...


class Sink(Protocol):
    async def write(self, data: bytes) -> None:
        """Waits while the reader is slow; BrokenPipeError once it has gone."""
        ...


class Pipe:
    """A bounded in-memory pipe, both Source and Sink."""

    def __init__(self, limit: int = PIPE_LIMIT) -> None:
        self._data = bytearray()
        self._limit = limit
        self._ended = False  # no more will be written
        self._broken = False  # nobody will read
        self._changed = asyncio.Condition()

    async def read(self, limit: int = CHUNK) -> bytes:
        async with self._changed:
            await self._changed.wait_for(lambda: self._data or self._ended)
            taken = bytes(self._data[:limit])
            del self._data[:limit]
            self._changed.notify_all()
            return taken

    async def write(self, data: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._data) < self._limit or self._broken)
            if self._broken:
                raise BrokenPipeError
            self._data += data
            self._changed.notify_all()

    async def end(self) -> None:
        """The writer is done."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def abandon(self) -> None:
        """The reader is gone."""
        async with self._changed:
            self._broken = True
            self._data.clear()
            self._changed.notify_all()


class Collected:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, data: bytes) -> None:
        self.data += data


class Discard:
    """/dev/null as a sink."""

    async def write(self, data: bytes) -> None:
        return None


class Fixed:
    """A source of bytes known beforehand; Fixed() is the empty one."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = memoryview(data)

    async def read(self, limit: int = CHUNK) -> bytes:
        taken = bytes(self._data[:limit])
        self._data = self._data[len(taken) :]
        return taken


async def read_all(source: Source, limit: int = 1 << 30) -> bytes:
    """Everything until the end; ValueError past the limit."""
    data = bytearray()
    while chunk := await source.read():
        data += chunk
        if len(data) > limit:
            raise ValueError(f"more than {limit} bytes")
    return bytes(data)
