"""A question put to the phone's shell, and how it was put, word for word."""

from __future__ import annotations

from dataclasses import dataclass

from ..device.phone import Device
from ..device.shell import command_line
from ..device.wire import ShellResult
from .oracle import Query

COMMAND_S = 10.0
NEEDS_SHELL = ("adb_shell",)
NEEDS_ROOT = ("adb_shell", "root")


@dataclass(frozen=True)
class ShellQuestion:
    type: str
    words: tuple[str, ...]
    root: bool = False
    seconds: float = COMMAND_S

    @property
    def query(self) -> Query:
        line = command_line(self.words, root=self.root)
        return Query(self.type, round(self.seconds * 1000), cmd=line)

    def answer(self, device: Device) -> str:
        """Its stdout; anything but a clean success is a fault."""
        return device.shell.answer(*self.words, root=self.root, timeout=self.seconds)

    def result(self, device: Device) -> ShellResult:
        """Any exit code is an answer."""
        return device.shell.query(*self.words, root=self.root, timeout=self.seconds)
