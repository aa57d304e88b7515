"""What a pseudo terminal does to the bytes between a person and a shell: echo, line ends, ^C."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Literal

from ..streams import CHUNK, PIPE_LIMIT, Sink, Source

INTERRUPT, END, BACKSPACE, RETURN, ERASE_LINE, DELETE = 0x03, 0x04, 0x08, 0x0D, 0x15, 0x7F
NEWLINE = 0x0A
# What Linux keeps of a line; more is not heard.
LONGEST_LINE = 4095
RUBOUT = b"\b \b"


class Interrupts(asyncio.Event):
    """Set by ^C; knows whether anybody would notice."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = 0

    async def wait(self) -> Literal[True]:
        self.awaited += 1
        try:
            return await super().wait()
        finally:
            self.awaited -= 1


class Typed:
    """What was typed and not read yet: at most a line a read, as a terminal gives it.

    ^D is an entry without bytes: the end for the one read that takes it, so that it ends `cat`
    and not the shell which reads after it.
    """

    def __init__(self) -> None:
        self._entries: deque[bytes] = deque()
        self._size = 0  # in bytes, and one for each entry: a ^D has none
        self._hung_up = False
        self._changed = asyncio.Condition()

    async def read(self, limit: int = CHUNK) -> bytes:
        async with self._changed:
            await self._changed.wait_for(lambda: self._entries or self._hung_up)
            if not self._entries:
                return b""
            entry = self._entries.popleft()
            taken, rest = entry[:limit], entry[limit:]
            self._size -= len(entry) + 1
            if rest:
                self._entries.appendleft(rest)
                self._size += len(rest) + 1
            self._changed.notify_all()
            return taken

    async def enter(self, entry: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._size < PIPE_LIMIT)
            self._entries.append(entry)
            self._size += len(entry) + 1
            self._changed.notify_all()

    async def hang_up(self) -> None:
        """Nobody will type any more."""
        async with self._changed:
            self._hung_up = True
            self._changed.notify_all()


class Terminal:
    """A cooked terminal: lines reach `stdin` when they are ended, `write` is what is shown.

    ^C ends the program, unless it is a shell that takes interrupts.
    """

    def __init__(self, keyboard: Source, screen: Sink, interrupts: Interrupts | None) -> None:
        self.stdin = Typed()
        self._keyboard = keyboard
        self._screen = screen
        self._interrupts = interrupts
        self._line = bytearray()

    async def write(self, data: bytes) -> None:
        await self._screen.write(data.replace(b"\n", b"\r\n"))

    async def run(self, program: Awaitable[int]) -> int | None:
        """The program's exit code; None where ^C ended it."""
        running = asyncio.ensure_future(program)
        typing = asyncio.create_task(self._type())
        try:
            await asyncio.wait((running, typing), return_when=asyncio.FIRST_COMPLETED)
            if not running.done() and typing.result():
                return None
            return await running
        finally:
            for task in (running, typing):
                task.cancel()
            await asyncio.gather(running, typing, return_exceptions=True)

    async def _type(self) -> bool:
        """Take what is typed until it ends; True where the person wants the program gone."""
        while data := await self._keyboard.read():
            for byte in data:
                if byte != INTERRUPT:
                    await self._key(byte)
                elif self._interrupts is None:
                    await self.write(b"^C\n")
                    return True
                else:
                    await self._interrupt(self._interrupts)
        await self.stdin.hang_up()
        return False

    async def _key(self, byte: int) -> None:
        line = self._line
        if byte in (RETURN, NEWLINE):
            line.append(NEWLINE)
            entered = bytes(line)
            line.clear()
            await self.write(b"\n")
            await self.stdin.enter(entered)
        elif byte == END:
            entered = bytes(line)
            line.clear()
            await self.stdin.enter(entered)
        elif byte in (BACKSPACE, DELETE):
            if line:
                self._rub_out()
                await self.write(RUBOUT)
        elif byte == ERASE_LINE:
            await self.write(RUBOUT * len(line.decode("utf-8", "replace")))
            line.clear()
        elif len(line) < LONGEST_LINE:
            line.append(byte)
            await self.write(bytes([byte]))

    async def _interrupt(self, interrupts: Interrupts) -> None:
        self._line.clear()
        await self.write(b"^C\n")
        if interrupts.awaited:
            interrupts.set()
        else:
            await self.stdin.enter(b"\n")  # nothing runs: a fresh prompt is all that is wanted

    def _rub_out(self) -> None:
        """The last character, which may be several bytes."""
        while self._line and self._line[-1] & 0xC0 == 0x80:
            self._line.pop()
        if self._line:
            self._line.pop()
