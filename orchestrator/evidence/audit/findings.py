"""Findings of the audit: file, line, rule and one sentence, limited in number and length."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..bundle import replace_surrogates
from .rules import RULES

MAX_PER_RULE = 20  # findings of one rule in one file
_TEXT_LIMIT = 300


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
    """Collects findings, at most MAX_PER_RULE of each rule in each file."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, line: int, rule: str, text: str) -> None:
        assert rule in RULES, rule
        self._counts[file, rule] += 1
        count = self._counts[file, rule]
        if count <= MAX_PER_RULE:
            self.found.append(Finding(printable(file), line, rule, printable(text)))
        elif count == MAX_PER_RULE + 1:
            self.found.append(Finding(printable(file), line, rule, "and more of this rule"))

    def below(self, folder: str) -> list[Finding]:
        """All findings, with the folder put before their file names."""
        return [replace(each, file=f"{folder}/{each.file}") for each in self.found]


def printable(text: str) -> str:
    """Shorten and escape a text: evidence may hold anything, also control codes of a terminal."""
    short = text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 3] + "..."
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in replace_surrogates(short))
