"""Your own program as an agent: JSON lines over its stdin and stdout.

    -> {"type": "hello", "protocol": 1, "goal": ...}
    <- {"type": "ready", "name"?, "version"?, "model"?}
    -> {"type": "observation", ...}         what shown.py shows
    <- {"action": "tap", "element": 3}      what normalize.py reads, with "usage"?

It is started with a clean environment in an empty folder, which is its HOME: nothing there says
which case this is. Start it from a thread that outlives it: the kernel ends it with that thread.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..outcome import Reason
from .agent import About, AgentFault, Observation, Reply
from .program import MOST_LINE, Closed, Program, TooLong, Unasked
from .shown import shown

PROTOCOL = 1
MOST_QUOTED = 200
MOST_NAME = 200


class Command:
    """One process for one attempt."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self.about = About(Path(command[0]).name, provider="command", command=self._command)
        self._home = ""
        self._program: Program | None = None
        self.errors = ""  # the last of its stderr, once it is closed

    def start(self, goal: str, seconds: float) -> None:
        try:
            self._home = tempfile.mkdtemp(prefix="agent-")
            self._program = Program(self._command, clean_environment(self._home), self._home)
            ready = self._ask({"type": "hello", "protocol": PROTOCOL, "goal": goal}, seconds)
        except (AgentFault, OSError) as error:
            raise AgentFault(Reason.AGENT_NOT_STARTED, str(error)) from error
        if not isinstance(ready, dict) or ready.get("type") != "ready":
            text = f'to "hello" it answered {_quoted(json.dumps(ready))}, not {{"type": "ready"}}'
            raise AgentFault(Reason.AGENT_NOT_STARTED, text)
        self.about = replace(
            self.about,
            name=_word(ready.get("name")) or self.about.name,
            version=_word(ready.get("version")) or "",
            model_id=_word(ready.get("model")),
        )

    def act(self, observation: Observation, seconds: float) -> Reply:
        raw = self._ask({"type": "observation", **shown(observation)}, seconds)
        usage = raw.pop("usage", None) if isinstance(raw, dict) else None
        usage = usage if isinstance(usage, dict) else {}
        return Reply(raw, _count(usage.get("tokens_in")), _count(usage.get("tokens_out")))

    def close(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.end()
            self.errors = program.errors
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)

    def _ask(self, message: dict[str, Any], seconds: float) -> Any:
        program = self._program
        if program is None:
            raise AgentFault(Reason.AGENT_NOT_STARTED, "it was not started")
        line = json.dumps(message, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        try:
            answer = program.exchange(line, seconds)
        except TimeoutError:
            text = f"no answer within {seconds:.1f} s{program.last_words()}"
            raise AgentFault(Reason.AGENT_SILENT, text) from None
        except TooLong:
            text = f"a line of more than {MOST_LINE} bytes"
            raise AgentFault(Reason.AGENT_INVALID, text) from None
        except Unasked:
            raise AgentFault(Reason.AGENT_INVALID, "two lines to one message") from None
        except Closed:
            raise AgentFault(Reason.AGENT_CRASHED, program.how_it_ended()) from None
        try:
            return parsed(answer)
        except (ValueError, RecursionError):
            said = _quoted(answer.decode("utf-8", "replace").strip())
            raise AgentFault(Reason.AGENT_INVALID, f"not a line of JSON: {said}") from None


def clean_environment(home: str) -> dict[str, str]:
    """All that a program is given: where programs are, an empty HOME, a language."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }


def parsed(line: bytes) -> Any:
    """JSON, and only JSON: NaN and infinities, which Python would take, are a ValueError."""
    return json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    return number if math.isfinite(number) else _no_number(word)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}...")


def _word(value: Any) -> str | None:
    return value[:MOST_NAME] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 40 else None
