"""Follows an image build's output: reports progress, finds the image's id or why the build failed.

Progress is a line for each step, the step's output at a rate that a person can read, and a line
that says that it is still running where there is no output.
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

LINE_S = 2.0  # between two lines of one step
STILL_S = 5.0  # without output, until a line says that it is still running
_STEP = re.compile(r"^Step (\d+)/(\d+) : (.*)$")
_MADE = re.compile(r"^ ---> ([0-9a-f]{12,64})$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SHORT = 60
_WORK = ("FROM ", "RUN ", "COPY ", "ADD ")  # steps of other kinds take no time and are not reported


@dataclass
class BuildResult:
    """What a build has made so far; a failed build has made images too."""

    on_made: Callable[[list[str]], None]
    id: str = ""
    made: list[str] = field(default_factory=list)  # without those from the engine's cache


class BuildProgress:
    """Reports how far a build is."""

    def __init__(self, what: str, notify: Notify) -> None:
        self._what = what
        self._notify = notify
        self._step = ""
        self._reported = time.monotonic()
        self._began = self._reported

    def step(self, number: str, of: str, command: str) -> None:
        short = " ".join(command.split())
        short = short if len(short) <= _SHORT else f"{short[:_SHORT]}..."
        self._step = f"building {self._what}: step {number}/{of}"
        self._began = time.monotonic()
        if short.startswith(_WORK):
            self._report(f"{self._step}: {short}")

    def line(self, text: str) -> None:
        if time.monotonic() - self._reported >= LINE_S:
            self._report(f"{self._step}: {text}")

    def still(self) -> None:
        now = time.monotonic()
        if self._step and now - self._reported >= STILL_S:
            self._report(f"{self._step}: still running ({now - self._began:.0f} s)")

    def _report(self, text: str) -> None:
        self._reported = time.monotonic()
        self._notify(text)

    @contextmanager
    def reporting_silence(self) -> Iterator[None]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(STILL_S / 5):
                self.still()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(STILL_S)


def follow(
    pieces: Iterator[Mapping[str, Any]], what: str, notify: Notify, built: BuildResult
) -> None:
    """Read the engine's messages to their end, also after a failure, because an unread stream keeps
    its connection. ImageFailed has the last line of the failed step."""
    progress, output, cached, failed = BuildProgress(what, notify), list[str](), False, ""
    with progress.reporting_silence():
        for piece in pieces:
            if "error" in piece:
                failed = _why(output, str(piece["error"]))
            if id := (piece.get("aux") or {}).get("ID"):
                built.id = id
            for line in _lines(piece):
                if step := _STEP.match(line):
                    output, cached = [], step[3].startswith("FROM ")
                    progress.step(*step.groups())
                elif line == " ---> Using cache":
                    cached = True
                elif made := _MADE.match(line):
                    if not cached:
                        built.made.append(made[1])
                        built.on_made(built.made)
                elif not line.startswith((" --->", "Removing intermediate", "Successfully")):
                    output.append(line)
                    progress.line(line)
    if failed:
        raise ImageFailed(f"{what} was not built: {failed}")
    if not built.id:
        raise ImageFailed(f"{what} was not built, and the engine gives no reason")


def _lines(piece: Mapping[str, Any]) -> list[str]:
    text = _COLOUR.sub("", str(piece.get("stream") or piece.get("status") or ""))
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _why(output: list[str], error: str) -> str:
    """A program's last line where one failed, else the engine's message."""
    failed = "returned a non-zero code" in error
    return output[-1] if failed and output else " ".join(error.split())
