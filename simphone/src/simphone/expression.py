"""Regular expressions that strangers wrote: a match that backtracks without end is given up.

Python's engine keeps the interpreter to itself while it matches, so nothing else on the phone
would run. It looks for signals now and then: a timer is what can end it.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 2.0
REPETITION = re.compile(r"[*+?{]")


class TooSlow(Exception):
    """The match took longer than anybody waits."""


def _rang(number: int, frame: FrameType | None) -> None:
    raise TooSlow("regular expression takes too long")


@contextmanager
def _bounded() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _rang)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Expression:
    """A compiled expression; its methods are those of re.Pattern, and may raise TooSlow."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.pattern = source
        self._compiled = re.compile(source, flags)
        self.groups = self._compiled.groups
        # With one repetition there is nothing to try again and again.
        self._simple = len(REPETITION.findall(source)) < 2

    def search(self, text: str) -> re.Match[str] | None:
        return self._run(lambda: self._compiled.search(text))

    def match(self, text: str) -> re.Match[str] | None:
        return self._run(lambda: self._compiled.match(text))

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._run(lambda: self._compiled.fullmatch(text))

    def found(self, text: str) -> list[re.Match[str]]:
        """Every match."""
        return self._run(lambda: list(self._compiled.finditer(text)))

    def sub(self, new: Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._run(lambda: self._compiled.sub(new, text, count=count))

    def _run(self, work: Callable[[], T]) -> T:
        # Only the main thread, where the phone's loop runs, gets signals.
        if self._simple or threading.current_thread() is not threading.main_thread():
            return work()
        with _bounded():
            return work()
