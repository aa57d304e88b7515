"""How a command's input, outputs and exit code travel over one stream: shell v2, v1 and exec."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..streams import CHUNK, Sink, Source
from .stream import Stream
from .terminal import Interrupts, Terminal

if TYPE_CHECKING:
    from ..world import World

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW_SIZE = range(6)
PACKET = struct.Struct("<BI")
# What adb adds to an exit code when ^C ended the command: 128 + SIGINT.
INTERRUPTED = 130


class RunShell(Protocol):
    def __call__(
        self,
        world: World,
        script: str,
        *,
        stdin: Source,
        stdout: Sink,
        stderr: Sink,
        uid: int,
        tty: bool = False,
        interactive: bool = False,
        interrupts: asyncio.Event | None = None,
    ) -> Awaitable[int]:
        """The exit code of the script; an interactive one is read from stdin, and its running
        command ends when `interrupts` is set."""
        ...


@dataclass(frozen=True)
class ShellRequest:
    command: str
    v2: bool = False
    pty: bool = False

    @property
    def interactive(self) -> bool:
        return not self.command


def parse_request(service: str) -> ShellRequest:
    """`shell[,v2][,pty|raw][,TERM=x]:command`; unknown arguments mean nothing, as to adbd."""
    head, _, command = service.partition(":")
    arguments = head.split(",")[1:]
    pty = not command
    for argument in arguments:
        if argument in ("pty", "raw"):
            pty = argument == "pty"
    return ShellRequest(command, v2="v2" in arguments, pty=pty)


class PacketSink:
    """One of the outputs, in packets."""

    def __init__(self, stream: Stream, kind: int) -> None:
        self._stream = stream
        self._kind = kind

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), CHUNK):
            part = view[start : start + CHUNK]
            await self._stream.write(PACKET.pack(self._kind, len(part)) + part)


class PacketSource:
    """The input in packets, taken apart as it is read. A read that is cancelled loses nothing."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._head = b""
        self._kind = STDIN
        self._left = 0
        self._ended = False

    async def read(self, limit: int = CHUNK) -> bytes:
        while not self._ended:
            if self._left == 0:
                await self._next_packet()
                continue
            data = await self._stream.chunk(min(limit, self._left))
            self._left -= len(data)
            self._ended = not data
            # The window's size and whatever newer hosts send is passed over: nobody asks for it.
            if self._kind == STDIN:
                return bytes(data)
        return b""

    async def _next_packet(self) -> None:
        piece = await self._stream.chunk(PACKET.size - len(self._head))
        self._head += piece
        self._ended = not piece
        if len(self._head) == PACKET.size:
            self._kind, self._left = PACKET.unpack(self._head)
            self._head = b""
            self._ended = self._kind == CLOSE_STDIN


async def serve_shell(
    stream: Stream, request: ShellRequest, world: World, run_shell: RunShell, uid: int
) -> None:
    source: Source = PacketSource(stream) if request.v2 else stream
    stdout: Sink = PacketSink(stream, STDOUT) if request.v2 else stream
    stderr: Sink = PacketSink(stream, STDERR) if request.v2 else stream

    interrupts = Interrupts() if request.pty and request.interactive else None

    def run(stdin: Source, stdout: Sink, stderr: Sink) -> Awaitable[int]:
        return run_shell(
            world,
            request.command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            uid=uid,
            tty=request.pty,
            interactive=request.interactive,
            interrupts=interrupts,
        )

    if request.pty:
        terminal = Terminal(source, stdout, interrupts)
        finished = await terminal.run(run(terminal.stdin, terminal, terminal))
        code = INTERRUPTED if finished is None else finished
    else:
        code = await run(source, stdout, stderr)
    if request.v2:
        told: int | None = world.faults.at("adbd.exit", code)
        if told is not None:
            await stream.write(PACKET.pack(EXIT, 1) + bytes([told & 0xFF]))
