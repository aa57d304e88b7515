"""Reads a sed script: commands with their addresses, as a flat list that jumps lead through."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..expression import Expression
from .flags import BadValue
from .regex import compiled

MAX_COMMANDS = 10_000
NUMBER = re.compile(r"\d{1,9}")
BRACKET = re.compile(r"\^?\]?(?:\[:\w+:\]|[^\]])*\]")
SUBSTITUTION_FLAGS = re.compile(r"[gpIi0-9]*")
LABEL = re.compile(r"[^;\n}]*")
PLAIN = frozenset("pPdDnNgGhHx=l")


@dataclass(frozen=True)
class Address:
    line: int = 0  # 0: not a line; -1: the last one
    expression: Expression | None = None
    more: int = -1  # `+N`: so many lines after the first address

    def matches(self, number: int, text: str, *, last: bool) -> bool:
        if self.expression is not None:
            return self.expression.search(text) is not None
        return last if self.line == -1 else number == self.line


@dataclass
class Command:
    name: str
    first: Address | None = None
    second: Address | None = None
    negated: bool = False
    expression: Expression | None = None
    text: str = ""  # a replacement, what a, i and c print, a label, a path
    flags: str = ""
    target: int = 0  # where a jump leads, or the end of a block
    inside: bool = False  # between the two addresses
    until: int = 0  # the line the second address means, where it means one

    def applies(self, number: int, line: str, *, last: bool) -> bool:
        return self._selected(number, line, last=last) != self.negated

    def _selected(self, number: int, line: str, *, last: bool) -> bool:
        if self.first is None:
            return True
        if self.second is None:
            return self.first.matches(number, line, last=last)
        if self.inside:
            past = 0 < self.until < number
            ends = past or number == self.until
            ends = ends or (not self.until and self.second.matches(number, line, last=last))
            self.inside = not ends
            return not past
        if not self.first.matches(number, line, last=last):
            return False
        self.until = number + self.second.more if self.second.more >= 0 else self.second.line
        self.until = 0 if self.until == -1 else self.until
        # A second address that lies behind us ends the range with its first line.
        behind = 0 < self.until <= number
        self.inside = not behind and not (last and self.second.line == -1)
        return True


class Reader:
    """A script's text into commands."""

    def __init__(self, text: str, *, extended: bool) -> None:
        self._text = text
        self._at = 0
        self._start = 0  # of the command that is read
        self._extended = extended
        self._last: Expression | None = None
        self._found: list[Command] = []
        self._open: list[Command] = []  # blocks

    def commands(self) -> list[Command]:
        while True:
            self._skip(" \t\n;")
            if self._at >= len(self._text):
                break
            if self._peek() == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
                continue
            if len(self._found) > MAX_COMMANDS:
                raise BadValue("too many commands")
            self._start = self._at
            self._found.append(self._command())
        if self._open:
            raise BadValue("no }")
        labels = {c.text: at for at, c in enumerate(self._found) if c.name == ":"}
        for command in self._found:
            if command.name in ("b", "t", "T"):
                if command.text and command.text not in labels:
                    raise BadValue(f"no :{command.text}")
                command.target = labels.get(command.text, len(self._found))
        return self._found

    def _bad(self, at: int | None = None) -> BadValue:
        at = self._at if at is None else at
        shown = self._text[self._start :].partition("\n")[0]
        char = self._text[at : at + 1] or "\0"
        return BadValue(f"bad pattern '{shown[:80]}'@{at - self._start + 1} ({char})")

    def _skip(self, letters: str) -> None:
        while self._peek() and self._peek() in letters:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _command(self) -> Command:
        first = self._address()
        second = None
        if first is not None:
            self._skip(" \t")
            if self._peek() == ",":
                self._at += 1
                self._skip(" \t")
                second = self._address(second=True)
        self._skip(" \t")
        negated = self._peek() == "!"
        if negated:
            self._skip("! \t")
        # `0,/x/` is a range that has begun before the first line.
        begun = second is not None and first == Address()
        command = Command(self._peek(), first, second, negated, inside=begun)
        self._at += 1
        self._argument(command)
        return command

    def _argument(self, command: Command) -> None:
        match command.name:
            case "{":
                self._open.append(command)
            case "}" if self._open:
                self._open.pop().target = len(self._found)
            case "s" | "y":
                self._substitution(command)
            case "a" | "i" | "c":
                command.text = self._line_text()
            case ":" | "b" | "t" | "T":
                command.text = self._take(LABEL).strip()
                if command.name == ":" and not command.text:
                    raise self._bad()
            case "r" | "w":
                command.text = self._take(re.compile(r"[^\n]*")).strip()
                if not command.text:
                    raise self._bad()
            case "q":
                command.flags = self._take(NUMBER)
            case name if not name or name not in PLAIN:
                raise self._bad(min(self._at, len(self._text)))
        if command.name in PLAIN or command.name == "q":
            self._skip(" \t")
            if command.name == "q" and self._peek() not in ("", ";", "\n", "}"):
                raise self._bad()

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found.group()

    def _address(self, *, second: bool = False) -> Address | None:
        if second and self._peek() == "+":
            self._at += 1
            return Address(more=int(self._take(NUMBER) or 0))
        if number := self._take(NUMBER):
            return Address(int(number))
        char = self._peek()
        if char == "$":
            self._at += 1
            return Address(-1)
        if char in ("/", "\\") and char:
            self._at += char == "\\"
            return Address(expression=self._expression(self._until(), fold=False))
        return None

    def _expression(self, source: str, *, fold: bool) -> Expression:
        if not source and self._last is not None:
            return self._last
        self._last = compiled(source.replace("\\n", "\n"), extended=self._extended, fold=fold)
        return self._last

    def _until(self, *, expression: bool = True, opened: bool = False) -> str:
        """The text up to the delimiter that stands here; `opened`: up to the one just passed."""
        opening = self._at - 1 if opened else self._at
        delimiter = self._text[opening : opening + 1]
        begins = self._at = opening + 1
        pieces: list[str] = []
        while True:
            char = self._peek()
            if not char or not delimiter:
                raise self._bad(begins if opened else opening)
            self._at += 1
            if char == delimiter:
                return "".join(pieces)
            if char == "\\":
                following = self._peek()
                self._at += 1
                pieces.append(following if following == delimiter else "\\" + following)
            elif char == "[" and expression:
                pieces.append("[" + self._take(BRACKET))
            else:
                pieces.append(char)

    def _substitution(self, command: Command) -> None:
        source = self._until(expression=command.name == "s")
        command.text = self._until(expression=False, opened=True)
        if command.name == "y":
            source, command.text = source.replace("\\n", "\n"), command.text.replace("\\n", "\n")
            if len(source) != len(command.text):
                raise self._bad()
            command.flags = source
            return
        command.flags = self._take(SUBSTITUTION_FLAGS)
        fold = bool(set(command.flags) & {"i", "I"})
        if self._peek() == "w":
            self._at += 1
            command.flags += "w" + self._take(re.compile(r"[^\n]*")).strip()
        command.expression = self._expression(source, fold=fold)

    def _line_text(self) -> str:
        if not self._peek():
            raise self._bad()
        self._skip(" \t")
        if self._text.startswith("\\\n", self._at):
            self._at += 2
        elif self._peek() == "\\":
            self._at += 1
        text = self._take(re.compile(r"(?:\\\n|[^\n])*"))
        return text.replace("\\\n", "\n")
