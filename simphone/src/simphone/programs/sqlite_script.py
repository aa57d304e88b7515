"""Where one statement of an SQL script ends and the next begins."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

# Quoted text and comments hide semicolons; unclosed ones reach to the end.
_TOKEN = re.compile(
    r"""'[^']*'? | "[^"]*"? | `[^`]*`? | \[[^\]]*\]? | --[^\n]*\n? | /\*.*?(?:\*/|\Z) | ;
      | [^'"`\[\-/;]+ | .""",
    re.DOTALL | re.VERBOSE,
)
_TRIGGER = re.compile(r"\s*(explain\s+)?create\s+(temp\s+|temporary\s+)?trigger\b", re.IGNORECASE)
_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|;)*\Z", re.DOTALL)


@dataclass(frozen=True)
class Statement:
    text: str
    line: int  # where it begins, counted from 1
    dot: bool = False  # a command to the program, not SQL


def statements(script: str) -> Iterator[Statement]:
    """The script's statements in order; a dot command is one line at a statement's place."""
    at, line = 0, 1
    while at < len(script):
        if script.startswith(".", at):
            end = script.find("\n", at)
            end = len(script) if end < 0 else end + 1
            yield Statement(script[at:end].strip(), line, dot=True)
        elif script[at] in " \t\r\n":
            end = at + 1
        else:
            end = _end(script, at)
            if not is_blank(text := script[at:end]):
                yield Statement(text, line)
        line += script.count("\n", at, end)
        at = end


def is_blank(text: str) -> bool:
    """Nothing but spaces, comments and semicolons."""
    return _BLANK.match(text) is not None


def is_complete(script: str) -> bool:
    """Whether everything typed so far can run: an interactive caller need not wait for more."""
    parts = list(statements(script))
    return not parts or parts[-1].dot or parts[-1].text.rstrip().endswith(";")


def _end(script: str, start: int) -> int:
    trigger = _TRIGGER.match(script, start) is not None
    for token in _TOKEN.finditer(script, start):
        # A trigger's body has semicolons of its own.
        if token.group() == ";" and (
            not trigger or sqlite3.complete_statement(script[start : token.end()])
        ):
            return token.end()
    return len(script)
