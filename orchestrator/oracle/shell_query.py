"""Shell commands as oracle queries, and their raw results as shell results."""

from __future__ import annotations

from collections.abc import Generator

from ..device.adb_socket import ShellResult
from ..device.capabilities import ROOT, SHELL
from ..device.shell import command_line, succeeded
from .oracle import Query, Raw

COMMAND_S = 10.0
NEEDS_SHELL = (SHELL,)
NEEDS_ROOT = (SHELL, ROOT)


def command(type: str, *words: str, root: bool = False, seconds: float = COMMAND_S) -> Query:
    return Query(type, round(seconds * 1000), cmd=command_line(words, root=root))


def result(query: Query, raw: Raw) -> ShellResult:
    """The result with its exit code, whichever it is."""
    assert raw.exit_code is not None, "an answered command has an exit code"
    return ShellResult(query.cmd or "", raw.data, raw.error.encode(), raw.exit_code)


def answer(query: Query) -> Generator[Query, Raw, str]:
    """Runs the query and returns its stdout; anything but a clean success is a fault."""
    raw = yield query
    return succeeded(result(query, raw)).text
