"""A question put to the phone's shell, word for word, and its answer in words."""

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
    """Any exit code is an answer."""
    assert raw.exit_code is not None, "a command that was answered"
    return ShellResult(query.cmd or "", raw.data, raw.error.encode(), raw.exit_code)


def answer(query: Query) -> Generator[Query, Raw, str]:
    """Its stdout; anything but a clean success is a fault."""
    raw = yield query
    return succeeded(result(query, raw)).text
