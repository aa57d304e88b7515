"""A program that may do anything, and its pipes: one line out, one line in, within a time.

It may not read, not write, write without end, die half-way or leave children. Its stderr is drained
meanwhile, and the last of it kept.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO

from . import process_guard
from .protocol import MOST_REPLY

MOST_ERRORS = 20_000
_PIECE = 1 << 16
_LEAVE_S = 0.5  # to end by itself once its input is closed
_END_S = 8.0  # the guard promises 5


class LineTooLong(Exception):
    """A line of more than MOST_REPLY bytes."""


class UnaskedLine(Exception):
    """A second line where one was asked for."""


class OutputClosed(Exception):
    """The program closed its output, as it does by ending."""


class AgentProcess:
    """Started with all that it is given; `end` leaves nothing of it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", process_guard.__file__, str(os.getpid()), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=folder,
            start_new_session=True,
        )
        self._in = _pipe(self._process.stdin)
        self._out = _pipe(self._process.stdout)
        self._err = _pipe(self._process.stderr)
        self._heard = bytearray()
        self._errors = bytearray()

    @property
    def errors(self) -> str:
        """The last that it said on stderr."""
        return self._errors.decode("utf-8", "replace").strip()

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends a line and returns the next one.

        Raises TimeoutError, OutputClosed, LineTooLong or UnaskedLine.
        """
        if self._heard:
            raise UnaskedLine
        deadline = time.monotonic() + seconds
        unsent = memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while unsent or b"\n" not in self._heard:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left):
                    if key.fileobj is self._in:
                        unsent = unsent[self._send(unsent) :]
                        if not unsent:
                            selector.unregister(self._in)
                    elif key.fileobj is self._out:
                        self._listen()
                    elif not self._drain():
                        selector.unregister(self._err)
        end = self._heard.index(b"\n") + 1
        answer = bytes(self._heard[:end])
        del self._heard[:end]
        return answer

    def how_it_ended(self) -> str:
        """Once its output is closed: its exit code, and its last words."""
        try:
            how = f"it ended with exit code {self._process.wait(_END_S)}"
        except subprocess.TimeoutExpired:
            how = "it closed its output and went on"
        return how + self.last_words()

    def last_words(self) -> str:
        while self._drain():
            continue
        return f"; its last words: {self.errors[-2000:]}" if self.errors else ""

    def end(self) -> None:
        """Its input is closed, by which it may leave; then the guard ends it and all it started."""
        self._in.close()
        for ask, patience in (
            (None, _LEAVE_S), (self._process.terminate, _END_S), (self._process.kill, None)
        ):  # fmt: skip
            if ask is not None:
                ask()
            try:
                self._process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                continue
        self._out.close()
        self._err.close()

    def _send(self, data: memoryview) -> int:
        try:
            return os.write(self._in.fileno(), data[:_PIECE])
        except BrokenPipeError:
            raise OutputClosed from None

    def _listen(self) -> None:
        piece = os.read(self._out.fileno(), _PIECE)
        if not piece:
            raise OutputClosed
        self._heard += piece
        if len(self._heard) > MOST_REPLY and b"\n" not in self._heard:
            raise LineTooLong

    def _drain(self) -> bool:
        """Whether there may be more."""
        try:
            piece = os.read(self._err.fileno(), _PIECE)
        except BlockingIOError:
            return False
        self._errors += piece
        del self._errors[:-MOST_ERRORS]
        return bool(piece)


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    os.set_blocking(end.fileno(), False)
    return end
