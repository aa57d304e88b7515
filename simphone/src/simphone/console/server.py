"""The console's socket: lines in, replies out, all of it bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from .commands import BEFORE_AUTH, COMMANDS
from .fault_commands import SIM_FAULT
from .session import Session

if TYPE_CHECKING:
    from ..phone import Phone

MAX_LINE = 64 * 1024
MAX_CONNECTIONS = 64
STOP_S = 0.3


class Console:
    def __init__(self, phone: Phone, port: int, token_file: Path) -> None:
        self._phone = phone
        self._port = port
        self._token_file = token_file
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """OSError where the port is taken."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def stop(self) -> None:
        """Replies under way are still sent."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=STOP_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) <= MAX_CONNECTIONS:
                await self._serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the peer, or the emulator, is gone
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = (SIM_FAULT,) if self._phone.options.arming else ()
        session = Session(self._phone, self._token_file, (*COMMANDS, *own), BEFORE_AUTH)
        writer.write(session.greeting().encode())
        line = bytearray()
        while not session.over:
            data = await reader.read(4096)
            if not data:
                break
            line += data
            await self._answer(session, line, writer)
        await writer.drain()

    async def _answer(
        self, session: Session, line: bytearray, writer: asyncio.StreamWriter
    ) -> None:
        """Takes the whole lines off the front and answers each."""
        while not session.over and (end := line.find(b"\n")) >= 0:
            raw = bytes(line[:end])
            del line[: end + 1]
            writer.write((await session.answer(raw)).encode())
            await writer.drain()
        if len(line) > MAX_LINE:
            writer.write(b"KO: line too long, bye bye\r\n")
            session.over = True
