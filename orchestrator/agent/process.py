"""An agent's process and its pipes: exchanges one line for one line within a time limit.

The program is not trusted to behave: it may not read, not write, write endlessly, die at any time
or leave children. Its stderr is read all the time, and the end of it is kept.
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
from .protocol import MAX_REPLY

MAX_ERRORS = 20_000  # bytes that are kept of its stderr
_PIECE = 1 << 16
_LEAVE_S = 0.5  # to end by itself after its input is closed
_END_S = 8.0  # the guard needs at most 5


class LineTooLong(Exception):
    """A line has more than MAX_REPLY bytes."""


class UnaskedLine(Exception):
    """The program sent a line without being asked."""


class OutputClosed(Exception):
    """The program closed its output, for example by ending."""


class AgentProcess:
    """A running program; `end` ends it and all processes that it started."""

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
        self._received = bytearray()
        self._errors = bytearray()

    @property
    def errors(self) -> str:
        """The end of its stderr."""
        return self._errors.decode("utf-8", "replace").strip()

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends a line and returns the next one.

        Raises TimeoutError, OutputClosed, LineTooLong or UnaskedLine.
        """
        if self._received:
            raise UnaskedLine
        deadline = time.monotonic() + seconds
        unsent = memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while unsent or b"\n" not in self._received:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left):
                    if key.fileobj is self._in:
                        unsent = unsent[self._send(unsent) :]
                        if not unsent:
                            selector.unregister(self._in)
                    elif key.fileobj is self._out:
                        self._receive()
                    elif not self._drain():
                        selector.unregister(self._err)
        end = self._received.index(b"\n") + 1
        answer = bytes(self._received[:end])
        del self._received[:end]
        return answer

    def how_it_ended(self) -> str:
        """Its exit code and the end of its stderr, after its output was closed."""
        try:
            how = f"it ended with exit code {self._process.wait(_END_S)}"
        except subprocess.TimeoutExpired:
            how = "it closed its output but still runs"
        return how + self.stderr_tail()

    def stderr_tail(self) -> str:
        """The end of its stderr, to be appended to a message."""
        while self._drain():
            continue
        return f"; its stderr ends with: {self.errors[-2000:]}" if self.errors else ""

    def end(self) -> None:
        """Closes its input, so that it can end; then the guard ends it with all its processes."""
        self._in.close()
        for act, seconds in (
            (None, _LEAVE_S), (self._process.terminate, _END_S), (self._process.kill, None)
        ):  # fmt: skip
            if act is not None:
                act()
            try:
                self._process.wait(seconds)
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

    def _receive(self) -> None:
        piece = os.read(self._out.fileno(), _PIECE)
        if not piece:
            raise OutputClosed
        self._received += piece
        if len(self._received) > MAX_REPLY and b"\n" not in self._received:
            raise LineTooLong

    def _drain(self) -> bool:
        """Reads from stderr; returns whether there may be more."""
        try:
            piece = os.read(self._err.fileno(), _PIECE)
        except BlockingIOError:
            return False
        self._errors += piece
        del self._errors[:-MAX_ERRORS]
        return bool(piece)


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    os.set_blocking(end.fileno(), False)
    return end
