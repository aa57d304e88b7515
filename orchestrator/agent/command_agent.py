"""The `command:` agent: a program that exchanges protocol.py's messages over stdin and stdout.

It gets a clean environment and an empty folder as its HOME, so that nothing tells it which case
this is, and where the host can confine it (confinement.py) its own view of that host. Start it from
a thread that outlives it: the kernel ends the program with that thread.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ..outcome import Reason
from . import process_guard, protocol
from .agent import AgentFault, AgentInfo, AgentReply, Observation
from .confinement import Confinement

MAX_ERRORS = 20_000  # bytes that are kept of its stderr
_PIECE = 1 << 16
_LEAVE_S = 0.5  # to end by itself after its input is closed
_END_S = 8.0  # the guard needs at most 5


class CommandAgent:
    """One process for one attempt."""

    def __init__(self, command: Sequence[str], confined: Confinement | None = None) -> None:
        self._command = tuple(command)
        self._confined = confined
        self.info = AgentInfo(
            Path(command[0]).name, provider="command", command=self._command,
            unconfined=confined is None,
        )  # fmt: skip
        self._session = protocol.new_session()
        self._home = ""
        self._program: AgentProcess | None = None
        self.errors = ""  # the end of its stderr, once it is closed

    def start(self, goal: str, seconds: float) -> None:
        try:
            self._home = tempfile.mkdtemp(prefix="agent-")
            confined, command = self._confined, self._command
            words = command if confined is None else confined.words(self._home, command)
            self._program = AgentProcess(words, self._home)
            ready = self._ask(protocol.hello(self._session, goal), seconds)
        except (AgentFault, OSError) as error:
            raise AgentFault(Reason.AGENT_NOT_STARTED, str(error)) from error
        self.info = protocol.with_introduction(self.info, ready)

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        return protocol.reply(self._ask(protocol.observation(self._session, observation), seconds))

    def close(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.end()
            self.errors = program.errors
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)

    def _ask(self, line: bytes, seconds: float) -> Any:
        if self._program is None:
            raise AgentFault(Reason.AGENT_NOT_STARTED, "the agent was not started")
        return protocol.parse_reply(self._program.exchange(line, seconds))


class AgentProcess:
    """A running program: exchanges one line for one line within a time limit.

    It is not trusted to behave: it may not read, not write, write endlessly, die at any time or
    leave children. Its stderr is read all the time, and the end of it is kept.
    """

    def __init__(self, command: Sequence[str], home: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", process_guard.__file__, str(os.getpid()), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(home),
            cwd=home,
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
        """Sends a line and returns the next one. Raises AgentFault."""
        if self._received:
            raise AgentFault(Reason.AGENT_INVALID, "it answered one message with two lines")
        deadline = time.monotonic() + seconds
        unsent = memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while unsent or b"\n" not in self._received:
                left = deadline - time.monotonic()
                if left <= 0:
                    text = f"no answer within {seconds:.1f} s{self._stderr_tail()}"
                    raise AgentFault(Reason.AGENT_SILENT, text)
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

    def _closed(self) -> AgentFault:
        """Its exit code and the end of its stderr, after it closed its output."""
        try:
            how = f"it ended with exit code {self._process.wait(_END_S)}"
        except subprocess.TimeoutExpired:
            how = "it closed its output but still runs"
        return AgentFault(Reason.AGENT_CRASHED, how + self._stderr_tail())

    def _stderr_tail(self) -> str:
        """The end of its stderr, to be appended to a message."""
        while self._drain():
            continue
        return f"; its stderr ends with: {self.errors[-2000:]}" if self.errors else ""

    def _send(self, data: memoryview) -> int:
        try:
            return os.write(self._in.fileno(), data[:_PIECE])
        except BrokenPipeError:
            raise self._closed() from None

    def _receive(self) -> None:
        piece = os.read(self._out.fileno(), _PIECE)
        if not piece:
            raise self._closed()
        self._received += piece
        if len(self._received) > protocol.MAX_REPLY and b"\n" not in self._received:
            raise protocol.too_long()

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


def clean_environment(home: str) -> dict[str, str]:
    """The whole environment of the program: PATH, an empty HOME, LANG."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
