"""Regular expressions that the guest wrote, with a bound on what a match may take.

A match holds the interpreter, so nothing else on the phone runs meanwhile; the engine counts the
processor time and gives up. Compiling cannot be interrupted, so a long source is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import regex

T = TypeVar("T")

PATIENCE_S = 2.0
LONGEST = 1 << 15
TOO_BIG = "Regular expression too big"  # the C library's text
# Without any of these a match takes no more steps than the lengths of text and source multiplied,
# which is cheaper than a look at the clock for every line.
BRANCHING = re.compile(r"[*+?{|]")
FEW_STEPS = 10_000_000

IGNORE_CASE, ANY_CHARACTER = int(regex.IGNORECASE), int(regex.DOTALL)
LEFTMOST_LONGEST = int(regex.POSIX)
Match = regex.Match[str]


class BadSource(Exception):
    """The text is not a regular expression."""


class TooSlow(Exception):
    """The match took more time or memory than the phone gives to one."""


class Expression:
    """A compiled expression; its methods are those of re.Pattern, and may raise TooSlow."""

    def __init__(self, source: str, flags: int = 0) -> None:
        if len(source) > LONGEST:
            raise BadSource(TOO_BIG)
        self.pattern = source
        try:
            self._compiled = regex.compile(source, flags)
        except (regex.error, OverflowError, RecursionError) as error:
            raise BadSource(str(error)) from None
        self.groups = self._compiled.groups
        self._branches = BRANCHING.search(source) is not None

    def search(self, text: str) -> Match | None:
        return self._run(self._compiled.search, text)

    def match(self, text: str) -> Match | None:
        return self._run(self._compiled.match, text)

    def fullmatch(self, text: str) -> Match | None:
        return self._run(self._compiled.fullmatch, text)

    def found(self, text: str) -> list[Match]:
        """Every match."""
        return self._run(lambda text, **bound: list(self._compiled.finditer(text, **bound)), text)

    def sub(self, new: Callable[[Match], str], text: str, count: int = 0) -> str:
        return self._run(
            lambda text, **bound: self._compiled.sub(new, text, count=count, **bound), text
        )

    def _run(self, work: Callable[..., T], text: str) -> T:
        try:
            if not self._branches and len(self.pattern) * len(text) < FEW_STEPS:
                return work(text)
            return work(text, timeout=PATIENCE_S)
        except TimeoutError:
            raise TooSlow("regular expression takes too long") from None
        except MemoryError:
            raise TooSlow("regular expression takes too much memory") from None
