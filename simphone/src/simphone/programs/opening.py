"""What does a guest path open to: a file, a device, or one of the caller's own streams?"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..disk import failure
from ..streams import CHUNK, Discard, Fixed, Sink, Source
from .call import Call

# /dev/zero and its like end here, so that copying one cannot fill the host's disk.
ENDLESS = 1 << 30
MAX_FILE = 4 << 30


class FileSource:
    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened

    async def read(self, limit: int = CHUNK) -> bytes:
        return self._opened.read(limit)

    def close(self) -> None:
        self._opened.close()


class FileSink:
    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self._written = 0

    async def write(self, data: bytes) -> None:
        self._written += len(data)
        if self._written > MAX_FILE:
            raise failure(errno.ENOSPC, "")
        self._opened.write(data)

    def close(self) -> None:
        self._opened.close()


class Endless:
    """/dev/zero and /dev/urandom."""

    def __init__(self, *, random: bool) -> None:
        self._random = random
        self._left = ENDLESS

    async def read(self, limit: int = CHUNK) -> bytes:
        size = min(limit, self._left)
        self._left -= size
        return os.urandom(size) if self._random else bytes(size)


class Full:
    """/dev/full."""

    async def write(self, data: bytes) -> None:
        raise failure(errno.ENOSPC, "/dev/full")


def _descriptor(path: str) -> str:
    """The standard stream a path stands for: `0`, `1`, `2`, or nothing."""
    named = {"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}
    for folder in ("/proc/self/fd/", "/dev/fd/"):
        if path.startswith(folder) and path.removeprefix(folder) in ("0", "1", "2"):
            return path.removeprefix(folder)
    return named.get(path, "")


def open_source(call: Call, path: str) -> Source:
    """What reading this path gives; OSError as open(2) would. Close it where it can be closed."""
    if _descriptor(path) == "0" or path == "/dev/tty":
        return call.stdin
    match call.world.disk.canonical(path, call.cwd):
        case "/dev/null" | "/dev/console" | "/dev/ptmx":
            return Fixed()
        case "/dev/zero" | "/dev/full":
            return Endless(random=False)
        case "/dev/urandom" | "/dev/random":
            return Endless(random=True)
    return FileSource(call.world.disk.open(path, call.uid, call.cwd))


def open_sink(call: Call, path: str, *, append: bool = False) -> Sink:
    """Where writing to this path goes; a file is made or emptied."""
    number = _descriptor(path)
    if number == "2":
        return call.stderr
    # A terminal is not asked for: what adb runs without one still prints to its client.
    if number == "1" or path == "/dev/tty":
        return call.stdout
    match call.world.disk.canonical(path, call.cwd):
        case "/dev/null" | "/dev/zero" | "/dev/random" | "/dev/urandom" | "/dev/console":
            return Discard()
        case "/dev/full":
            return Full()
    return FileSink(call.world.disk.create(path, call.uid, call.cwd, append=append))


def close(stream: Source | Sink) -> None:
    if isinstance(stream, FileSource | FileSink):
        stream.close()


@contextmanager
def reading(call: Call, path: str) -> Iterator[Source]:
    """The bytes of a file, or of stdin where the path is `-`."""
    source = call.stdin if path == "-" else open_source(call, path)
    try:
        yield source
    finally:
        close(source)


@contextmanager
def writing(call: Call, path: str, *, append: bool = False) -> Iterator[Sink]:
    sink = open_sink(call, path, append=append)
    try:
        yield sink
    finally:
        close(sink)


async def chunks(source: Source) -> AsyncIterator[bytes]:
    """Everything, piece by piece; others get their turn even where nothing has to be waited for."""
    while chunk := await source.read():
        yield chunk
        await asyncio.sleep(0)


async def copy(source: Source, sink: Sink) -> None:
    async for chunk in chunks(source):
        await sink.write(chunk)


async def lines(source: Source, end: bytes = b"\n") -> AsyncIterator[bytes]:
    """Lines with their end; the last one may lack it."""
    held: list[bytes] = []  # of a line that has not ended yet
    async for chunk in chunks(source):
        pieces = chunk.split(end)
        for piece in pieces[:-1]:
            yield b"".join([*held, piece, end])
            held = []
        if pieces[-1]:
            held.append(pieces[-1])
    if held:
        yield b"".join(held)


def reason(error: OSError) -> str:
    """An error's text as the guest's C library has it."""
    return os.strerror(error.errno) if error.errno else str(error)
