"""What does an engine say while it builds, and how is that told to a person?

A line for each step, then what the step says, not more often than a person reads; and where it
says nothing, that it is still at it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..events.notify import Notify
from ..fleet.docker.images import ImageFailed

LINES_S = 2.0  # between two lines of one step
STILL_S = 5.0
_STEP = re.compile(r"^Step (\d+)/(\d+) : (.*)$")
_MADE = re.compile(r"^ ---> ([0-9a-f]{12,64})$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SHORT = 60
_WORK = ("FROM ", "RUN ", "COPY ", "ADD ")  # the rest takes no time


@dataclass
class BuildResult:
    """As far as it came: also a build that failed made images."""

    on_made: Callable[[list[str]], None]
    id: str = ""
    made: list[str] = field(default_factory=list)  # those that no earlier build had made


class BuildProgress:
    """Says how far a build is."""

    def __init__(self, what: str, notify: Notify) -> None:
        self._what = what
        self._notify = notify
        self._at = ""
        self._said = time.monotonic()
        self._since = self._said

    def step(self, number: str, of: str, command: str) -> None:
        short = " ".join(command.split())
        short = short if len(short) <= _SHORT else f"{short[:_SHORT]}..."
        self._at = f"building {self._what}: step {number}/{of}"
        self._since = time.monotonic()
        if short.startswith(_WORK):
            self._tell(f"{self._at}: {short}")

    def line(self, text: str) -> None:
        if time.monotonic() - self._said >= LINES_S:
            self._tell(f"{self._at}: {text}")

    def still(self) -> None:
        now = time.monotonic()
        if self._at and now - self._said >= STILL_S:
            self._tell(f"{self._at}: still at it ({now - self._since:.0f} s)")

    def _tell(self, text: str) -> None:
        self._said = time.monotonic()
        self._notify(text)

    @contextmanager
    def never_silent(self) -> Iterator[None]:
        over = threading.Event()

        def watch() -> None:
            while not over.wait(STILL_S / 5):
                self.still()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(STILL_S)


def follow(
    pieces: Iterator[Mapping[str, Any]], what: str, notify: Notify, built: BuildResult
) -> BuildResult:
    """Until it is built; ImageFailed with the last thing that the failed step said. Read to its
    end also then: a stream left in the middle keeps its connection."""
    telling, words, found, failed = BuildProgress(what, notify), list[str](), False, ""
    with telling.never_silent():
        for piece in pieces:
            if "error" in piece:
                failed = _why(words, str(piece["error"]))
            if id := (piece.get("aux") or {}).get("ID"):
                built.id = id
            for line in _lines(piece):
                if step := _STEP.match(line):
                    words, found = [], step[3].startswith("FROM ")
                    telling.step(*step.groups())
                elif line == " ---> Using cache":
                    found = True
                elif made := _MADE.match(line):
                    if not found:
                        built.made.append(made[1])
                        built.on_made(built.made)
                elif not line.startswith((" --->", "Removing intermediate", "Successfully")):
                    words.append(line)
                    telling.line(line)
    if failed:
        raise ImageFailed(f"{what} was not built: {failed}")
    if not built.id:
        raise ImageFailed(f"{what} was not built, and the engine does not say why")
    return built


def _lines(piece: Mapping[str, Any]) -> list[str]:
    text = _COLOUR.sub("", str(piece.get("stream") or piece.get("status") or ""))
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _why(words: list[str], error: str) -> str:
    """A program's own last line says more than that it failed; the rest is the engine's."""
    failed = "returned a non-zero code" in error
    return words[-1] if failed and words else " ".join(error.split())
