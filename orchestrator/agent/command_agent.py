"""The `command:` agent: a program that exchanges protocol.py's messages over stdin and stdout.

It gets a clean environment and an empty folder as its HOME, so that nothing tells it which case
this is. Start it from a thread that outlives it: the kernel ends the program with that thread.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..outcome import Reason
from . import protocol
from .agent import AgentFault, AgentInfo, AgentReply, Observation
from .process import AgentProcess, LineTooLong, OutputClosed, UnaskedLine


class CommandAgent:
    """One process for one attempt."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self.info = AgentInfo(Path(command[0]).name, provider="command", command=self._command)
        self._session = protocol.new_session()
        self._home = ""
        self._program: AgentProcess | None = None
        self.errors = ""  # the end of its stderr, once it is closed

    def start(self, goal: str, seconds: float) -> None:
        try:
            self._home = tempfile.mkdtemp(prefix="agent-")
            self._program = AgentProcess(self._command, clean_environment(self._home), self._home)
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
        program = self._program
        if program is None:
            raise AgentFault(Reason.AGENT_NOT_STARTED, "the agent was not started")
        try:
            answer = program.exchange(line, seconds)
        except TimeoutError:
            text = f"no answer within {seconds:.1f} s{program.stderr_tail()}"
            raise AgentFault(Reason.AGENT_SILENT, text) from None
        except LineTooLong:
            raise protocol.too_long() from None
        except UnaskedLine:
            raise AgentFault(
                Reason.AGENT_INVALID, "it answered one message with two lines"
            ) from None
        except OutputClosed:
            raise AgentFault(Reason.AGENT_CRASHED, program.how_it_ended()) from None
        return protocol.parse_reply(answer)


def clean_environment(home: str) -> dict[str, str]:
    """The whole environment of the program: PATH, an empty HOME, LANG."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
