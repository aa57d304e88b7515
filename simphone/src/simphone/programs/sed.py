"""sed: lines in, edited lines out. s y p d q = a i c { } with line and regex addresses."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field

from ..expression import Expression, Match
from ..streams import Sink
from .call import Call
from .files import complain
from .flags import BadUsage, flags
from .opening import lines, reading, writing
from .regex import BadExpression, compiled

MAX_COMMANDS = 10_000


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
    text: str = ""  # a replacement, or what a, i and c print
    flags: str = ""
    block: list[Command] = field(default_factory=list)
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
        self._extended = extended
        self._last: Expression | None = None

    def commands(self, depth: int = 0) -> list[Command]:
        found: list[Command] = []
        if depth > 20:
            raise BadUsage("nested too deeply")
        while True:
            self._skip(" \t\n;")
            if self._at >= len(self._text):
                if depth:
                    raise BadUsage("unmatched {")
                return found
            if self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
                continue
            if self._text[self._at] == "}":
                if not depth:
                    raise BadUsage("unexpected }")
                self._at += 1
                return found
            if len(found) > MAX_COMMANDS:
                raise BadUsage("too many commands")
            found.append(self._command(depth))

    def _skip(self, letters: str) -> None:
        while self._at < len(self._text) and self._text[self._at] in letters:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _command(self, depth: int) -> Command:
        first = self._address()
        second = None
        if first is not None:
            self._skip(" \t")
            if self._peek() == ",":
                self._at += 1
                self._skip(" \t")
                second = self._address(second=True)
                if second is None:
                    raise BadUsage("bad pattern after ,")
        self._skip(" \t")
        negated = self._peek() == "!"
        if negated:
            self._skip("! \t")
        command = Command(self._peek(), first, second, negated)
        self._at += 1
        match command.name:
            case "{":
                command.block = self.commands(depth + 1)
            case "s" | "y":
                self._substitution(command)
            case "a" | "i" | "c":
                command.text = self._line_text()
            case "p" | "d" | "q" | "=":
                pass
            case _:
                raise BadUsage(f"bad pattern '{self._text[:80]}'@{self._at} ({command.name})")
        return command

    def _address(self, *, second: bool = False) -> Address | None:
        more = re.compile(r"\+(\d{1,9})").match(self._text, self._at) if second else None
        if more is not None:
            self._at = more.end()
            return Address(more=int(more.group(1)))
        number = re.compile(r"\d{1,9}").match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return Address(int(number.group()))
        char = self._peek()
        if char == "$":
            self._at += 1
            return Address(-1)
        if char == "/" or char == "\\":
            self._at += char == "\\"
            delimiter = self._peek()
            self._at += 1
            source = self._until(delimiter)
            fold = self._peek() == "I"
            self._at += fold
            return Address(expression=self._expression(source, fold=fold))
        return None

    def _expression(self, source: str, *, fold: bool) -> Expression:
        if not source and self._last is not None:
            return self._last
        self._last = compiled(source, extended=self._extended, fold=fold)
        return self._last

    def _until(self, delimiter: str, *, expression: bool = True) -> str:
        """The text up to an unescaped delimiter, which is taken; brackets hide it."""
        pieces: list[str] = []
        while True:
            char = self._peek()
            if not char or not delimiter:
                raise BadUsage(f"bad pattern '{self._text[:80]}'@{self._at}: unmatched delimiter")
            self._at += 1
            if char == delimiter:
                return "".join(pieces)
            if char == "\\":
                following = self._peek()
                self._at += 1
                pieces.append(following if following == delimiter else "\\" + following)
            elif char == "[" and expression:
                found = re.compile(r"\^?\]?(?:\[:\w+:\]|[^\]])*\]").match(self._text, self._at)
                end = found.end() if found else self._at
                pieces.append("[" + self._text[self._at : end])
                self._at = end
            else:
                pieces.append(char)

    def _substitution(self, command: Command) -> None:
        delimiter = self._peek()
        self._at += 1
        source = self._until(delimiter, expression=command.name == "s")
        command.text = self._until(delimiter, expression=False)
        if command.name == "y":
            source, command.text = source.replace("\\n", "\n"), command.text.replace("\\n", "\n")
            if len(source) != len(command.text):
                raise BadUsage("y strings are not the same length")
            command.flags = source
            return
        found = re.compile(r"[gpIi0-9]*").match(self._text, self._at)
        assert found is not None
        command.flags = found.group()
        self._at = found.end()
        fold = bool(set(command.flags) & {"i", "I"})
        command.expression = self._expression(source, fold=fold)

    def _line_text(self) -> str:
        self._skip(" \t")
        if self._text.startswith("\\\n", self._at):
            self._at += 2
        elif self._peek() == "\\":
            self._at += 1
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        text, self._at = self._text[self._at : end], end
        return text


def replacement(template: str, found: Match) -> str:
    def one(part: re.Match[str]) -> str:
        mark = part.group()
        if mark == "&":
            return found.group()
        if mark[1].isdigit():
            index = int(mark[1])
            if index > found.re.groups:
                raise BadUsage(f"no such group {mark}")
            return found.group(index) or ""
        return {"n": "\n", "t": "\t"}.get(mark[1], mark[1])

    return re.sub(r"&|\\.", one, template, flags=re.DOTALL)


def substituted(command: Command, line: str) -> tuple[str, bool]:
    """The line after `s`, and whether anything matched."""
    assert command.expression is not None
    digits = "".join(char for char in command.flags if char.isdigit())
    nth = int(digits[:6]) if digits else 1
    seen = changed = 0

    def one(found: Match) -> str:
        nonlocal seen, changed
        seen += 1
        if seen < nth or (seen > nth and "g" not in command.flags):
            return found.group()
        changed += 1
        return replacement(command.text, found)

    count = 0 if "g" in command.flags else nth
    return command.expression.sub(one, line, count=count), bool(changed)


class Editor:
    """One run over one stream of lines."""

    def __init__(self, commands: list[Command], sink: Sink, *, quiet: bool) -> None:
        self._commands = commands
        self._sink = sink
        self._quiet = quiet
        self._after: list[str] = []
        self.quit = False

    async def run(self, numbered: AsyncGenerator[tuple[int, str, bool], None]) -> None:
        async with aclosing(numbered):
            await self._run(numbered)

    async def _run(self, numbered: AsyncIterator[tuple[int, str, bool]]) -> None:
        async for number, raw, last in numbered:
            line = raw.removesuffix("\n")
            # A last line without a newline stays without one.
            end = "\n" if raw.endswith("\n") else ""
            kept = await self._apply(self._commands, number, line, last=last)
            if kept is not None and not self._quiet:
                await self._write(kept + end)
            for text in self._after:
                await self._write(text + "\n")
            self._after = []
            if self.quit:
                return

    async def _write(self, text: str) -> None:
        await self._sink.write(text.encode("utf-8", "surrogateescape"))

    async def _apply(
        self, commands: list[Command], number: int, line: str, *, last: bool
    ) -> str | None:
        """The line as the commands leave it; None where it was deleted."""
        kept: str | None = line
        for command in commands:
            assert kept is not None
            if not command.applies(number, kept, last=last):
                continue
            match command.name:
                case "{":
                    kept = await self._apply(command.block, number, kept, last=last)
                case "s":
                    kept, changed = substituted(command, kept)
                    if changed and "p" in command.flags:
                        await self._write(kept + "\n")
                case "y":
                    kept = kept.translate(str.maketrans(command.flags, command.text))
                case "p":
                    await self._write(kept + "\n")
                case "=":
                    await self._write(f"{number}\n")
                case "a":
                    self._after.append(command.text)
                case "i":
                    await self._write(command.text + "\n")
                case "c":
                    if not command.inside:
                        await self._write(command.text + "\n")
                    return None
                case "d":
                    return None
                case "q":
                    self.quit = True
            if kept is None or self.quit:
                return kept
        return kept


async def numbered(call: Call, paths: list[str]) -> AsyncGenerator[tuple[int, str, bool], None]:
    """Lines of all files as one stream, each with its number and whether it is the last."""
    held: str | None = None
    number = 0
    for path in paths:
        try:
            with reading(call, path) as source:
                async for raw in lines(source):
                    if held is not None:
                        number += 1
                        yield number, held, False
                    held = raw.decode("utf-8", "surrogateescape")
        except OSError as error:
            await complain(call, path, error)
    if held is not None:
        yield number + 1, held, True


async def sed(call: Call) -> int:
    given = flags(call.args, "nEre:f:isz", {"quiet": "n", "silent": "n", "in-place": "i"})
    scripts = list(given.values.get("e", []))
    for path in given.values.get("f", []):
        data = call.world.disk.read(path, call.uid, call.cwd)
        scripts.append(data.decode("utf-8", "surrogateescape"))
    paths = list(given.rest)
    if not scripts:
        if not paths:
            raise BadUsage("Needs 1 argument")
        scripts.append(paths.pop(0))
    extended = bool(given.names & {"E", "r"})
    text = "\n".join(scripts)
    try:
        if "i" not in given:
            commands = Reader(text, extended=extended).commands()
            editor = Editor(commands, call.stdout, quiet="n" in given)
            await editor.run(numbered(call, paths or ["-"]))
            return 0
        for path in paths:
            commands = Reader(text, extended=extended).commands()
            await _in_place(call, commands, path, quiet="n" in given)
    except BadExpression as error:
        return await call.fail(f"sed: bad pattern: {error}")
    return 0


async def _in_place(call: Call, commands: list[Command], path: str, *, quiet: bool) -> None:
    disk = call.world.disk
    host = disk.writable(path, call.uid, call.cwd)
    disk.open(path, call.uid, call.cwd).close()
    with ExitStack() as stack:
        sink = stack.enter_context(writing(call, path + ".sed"))
        stack.callback(disk.writable(path + ".sed", call.uid, call.cwd).unlink, missing_ok=True)
        await Editor(commands, sink, quiet=quiet).run(numbered(call, [path]))
        edited = disk.writable(path + ".sed", call.uid, call.cwd)
        edited.chmod(host.stat().st_mode)
        edited.replace(host)


PROGRAMS = {"sed": sed}
