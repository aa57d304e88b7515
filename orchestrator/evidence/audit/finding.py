"""What is wrong, where, and by which rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..bundle import whole
from .rules import RULES

MOST = 20  # findings of one rule in one file; what broke everywhere need not be told everywhere
_TEXT = 300


@dataclass(frozen=True)
class Finding:
    file: str
    line: int  # from 1; 0: the file as a whole
    rule: str  # a name in RULES
    text: str  # one sentence

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}" if self.line else self.file
        return f"{at}: {self.rule}: {self.text}"


class Findings:
    """Findings as they are made, so many of a kind and no more."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._counted: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, line: int, rule: str, text: str) -> None:
        assert rule in RULES, rule
        self._counted[file, rule] += 1
        count = self._counted[file, rule]
        if count <= MOST:
            self.found.append(Finding(printable(file), line, rule, printable(text)))
        elif count == MOST + 1:
            self.found.append(Finding(printable(file), line, rule, "and more of this rule"))

    def below(self, folder: str) -> list[Finding]:
        """All of them, with their files below a folder."""
        return [replace(each, file=f"{folder}/{each.file}") for each in self.found]


def printable(text: str) -> str:
    """Evidence may hold anything; a terminal and a log are spared it."""
    short = text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in whole(short))
