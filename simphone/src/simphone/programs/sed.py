"""sed: edits the lines of its input by a script."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing, suppress

from ..expression import Match
from ..streams import Sink, read_all
from .call import Call
from .files import complain
from .flags import BadValue, flags
from .opening import lines, open_sink, reading, writing
from .regex import BadExpression
from .sed_script import Command, Reader

MAX_SPACE = 64 << 20  # letters in the pattern space or the hold space
ESCAPED = {"\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\r": "\\r", "\t": "\\t"}
ESCAPED |= {"\v": "\\v", "\n": "\\n"}


def replacement(template: str, found: Match) -> str:
    def one(part: re.Match[str]) -> str:
        mark = part.group()
        if mark == "&":
            return found.group()
        if mark[1].isdigit():
            index = int(mark[1])
            if index > found.re.groups:
                raise BadValue(f"no such group {mark}")
            return found.group(index) or ""
        return {"n": "\n", "t": "\t"}.get(mark[1], mark[1])

    return re.sub(r"&|\\.", one, template, flags=re.DOTALL)


def substituted(command: Command, line: str) -> tuple[str, bool]:
    """The line after `s`, and whether anything matched."""
    assert command.expression is not None
    flags = command.flags.partition("w")[0]
    digits = "".join(char for char in flags if char.isdigit())
    nth = int(digits[:6]) if digits else 1
    seen = changed = 0
    ended = -1  # where the last match did: an empty one does not follow it at once

    def one(found: Match) -> str:
        nonlocal seen, changed, ended
        if found.span() == (ended, ended):
            return ""
        ended = found.end()
        seen += 1
        if seen < nth or (seen > nth and "g" not in flags):
            return found.group()
        changed += 1
        return replacement(command.text, found)

    return command.expression.sub(one, line), bool(changed)


Lines = AsyncGenerator[tuple[str, bool], None]


class Editor:
    """One run over one stream of lines."""

    def __init__(self, call: Call, commands: list[Command], sink: Sink, *, quiet: bool) -> None:
        self.code: int | None = None  # set where a command ended everything
        self._call = call
        self._commands = commands
        self._sink = sink
        self._quiet = quiet
        self._after: list[bytes] = []  # what follows the line
        self._written: dict[str, Sink] = {}
        self._space = self._hold = ""
        self._end = "\n"  # a last line without a newline stays without one
        self._number = 0
        self._last = False
        self._replaced = False  # since the line was read, or the last `t`

    async def run(self, found: Lines) -> None:
        with ExitStack() as stack:
            for command in self._commands:
                path = command.text if command.name == "w" else command.flags.partition("w")[2]
                if path:
                    self._written[path] = open_sink(self._call, path)
                    stack.callback(getattr(self._written[path], "close", lambda: None))
            async with aclosing(found):
                again = False
                while self.code is None and (again or await self._read(found)):
                    again = await self._cycle(found)

    async def _read(self, found: Lines, joint: str | None = None) -> bool:
        try:
            raw, self._last = await anext(found)
        except StopAsyncIteration:
            return False
        self._number += 1
        self._end = "\n" if raw.endswith("\n") else ""
        line = raw.removesuffix("\n")
        self._space = line if joint is None else self._space + joint + line
        return True

    async def _cycle(self, found: Lines) -> bool:
        """All commands over one line; True where they begin anew without a new one."""
        self._replaced = False
        at, steps = 0, 0
        while at < len(self._commands):
            steps += 1
            if steps % 100 == 0:
                await asyncio.sleep(0)
            if len(self._space) + len(self._hold) > MAX_SPACE:
                raise BadValue("out of memory")
            command = self._commands[at]
            at += 1
            if not command.applies(self._number, self._space, last=self._last):
                at = command.target if command.name == "{" else at
                continue
            match command.name:
                case "b":
                    at = command.target
                case "t" | "T":
                    if self._replaced == (command.name == "t"):
                        at = command.target
                    self._replaced = False
                case "n":
                    if self._last:
                        self.code = 0
                        break
                    await self._finish()
                    await self._read(found)
                case "N":
                    if not await self._read(found, "\n"):
                        self.code = 0
                        break
                case "q":
                    self.code = int(command.flags or 0)
                    break
                case "D" if "\n" in self._space:
                    self._space = self._space.partition("\n")[2]
                    await self._flush_after()
                    return True
                case "c":
                    if not command.inside or command.negated:
                        await self._print(command.text)
                    await self._flush_after()
                    return False
                case "d" | "D":
                    await self._flush_after()
                    return False
                case _:
                    await self._do(command)
        await self._finish()
        return False

    async def _finish(self) -> None:
        if not self._quiet:
            await self._sink.write((self._space + self._end).encode("utf-8", "surrogateescape"))
        await self._flush_after()

    async def _flush_after(self) -> None:
        for data in self._after:
            await self._sink.write(data)
        self._after = []

    async def _print(self, text: str) -> None:
        await self._sink.write((text + "\n").encode("utf-8", "surrogateescape"))

    async def _do(self, command: Command) -> None:
        space = self._space
        match command.name:
            case "s":
                self._space, changed = substituted(command, space)
                self._replaced = self._replaced or changed
                flags, _, path = command.flags.partition("w")
                if changed and "p" in flags:
                    await self._print(self._space)
                if changed and path:
                    await self._to_file(path)
            case "y":
                self._space = space.translate(str.maketrans(command.flags, command.text))
            case "p":
                await self._print(space)
            case "P":
                await self._print(space.partition("\n")[0])
            case "=":
                await self._print(str(self._number))
            case "l":
                shown = "".join(ESCAPED.get(c, c if c.isprintable() else _octal(c)) for c in space)
                await self._print(shown + "$")
            case "g" | "G":
                self._space = self._hold if command.name == "g" else f"{space}\n{self._hold}"
            case "h" | "H":
                self._hold = space if command.name == "h" else f"{self._hold}\n{space}"
            case "x":
                self._space, self._hold = self._hold, space
            case "a":
                self._after.append((command.text + "\n").encode("utf-8", "surrogateescape"))
            case "i":
                await self._print(command.text)
            case "r":
                with suppress(OSError), reading(self._call, command.text) as source:
                    self._after.append(await read_all(source, MAX_SPACE))
            case "w":
                await self._to_file(command.text)

    async def _to_file(self, path: str) -> None:
        await self._written[path].write((self._space + "\n").encode("utf-8", "surrogateescape"))


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


class Numbered:
    """Lines of files as one stream, each with whether it is the last."""

    def __init__(self, call: Call, paths: list[str]) -> None:
        self.status = 0
        self._call = call
        self._paths = paths

    async def lines(self) -> Lines:
        held: str | None = None
        for path in self._paths:
            try:
                with reading(self._call, path) as source:
                    async for raw in lines(source):
                        if held is not None:
                            yield held, False
                        held = raw.decode("utf-8", "surrogateescape")
            except OSError as error:
                self.status = await complain(self._call, path, error)
        if held is not None:
            yield held, True


async def sed(call: Call) -> int:
    in_place, args = _suffix(call.args)
    given = flags(args, "nEre:f:sz", {"quiet": "n", "silent": "n"})
    scripts = list(given.values.get("e", []))
    for path in given.values.get("f", []):
        data = call.world.disk.read(path, call.uid, call.cwd)
        scripts.append(data.decode("utf-8", "surrogateescape"))
    paths = list(given.rest)
    if not scripts:
        if not paths:
            raise BadValue("no pattern")
        scripts.append(paths.pop(0))
    extended, quiet = bool(given.names & {"E", "r"}), "n" in given
    text = "\n".join(scripts)
    status = 0
    try:
        if in_place is None:
            paths = paths or ["-"]
            for group in [[path] for path in paths] if "s" in given else [paths]:
                found = Numbered(call, group)
                editor = Editor(
                    call, Reader(text, extended=extended).commands(), call.stdout, quiet=quiet
                )
                await editor.run(found.lines())
                status = editor.code or status | found.status
            return status
        for path in paths:
            commands = Reader(text, extended=extended).commands()
            await _in_place(call, commands, path, in_place, quiet=quiet)
    except BadExpression as error:
        return await call.fail(f"sed: bad regex: {error}")
    return status


def _suffix(args: list[str]) -> tuple[str | None, list[str]]:
    """-i takes its value only from its own word: the backup's suffix, and the other words."""
    rest: list[str] = []
    suffix = None
    for at, arg in enumerate(args):
        if arg == "--":
            return suffix, rest + args[at:]
        found = re.fullmatch(r"(-[nErsz]*)i(.*)|--in-place(?:=(.*))?", arg, re.DOTALL)
        if found is None or (rest and rest[-1] in ("-e", "-f")):
            rest.append(arg)
            continue
        more = found.group(2) or found.group(3) or ""
        letters = more if re.fullmatch("[nErsz]+", more) else ""
        suffix = "" if letters else more
        rest += [found.group(1) + letters] if len((found.group(1) or "-") + letters) > 1 else []
    return suffix, rest


async def _in_place(
    call: Call, commands: list[Command], path: str, suffix: str, *, quiet: bool
) -> None:
    disk = call.world.disk
    host = disk.writable(path, call.uid, call.cwd)
    disk.open(path, call.uid, call.cwd).close()
    with ExitStack() as stack:
        sink = stack.enter_context(writing(call, path + ".sed"))
        stack.callback(disk.writable(path + ".sed", call.uid, call.cwd).unlink, missing_ok=True)
        await Editor(call, commands, sink, quiet=quiet).run(Numbered(call, [path]).lines())
        edited = disk.writable(path + ".sed", call.uid, call.cwd)
        edited.chmod(host.stat().st_mode)
        if suffix:
            host.replace(disk.writable(path + suffix, call.uid, call.cwd))
        edited.replace(host)


PROGRAMS = {"sed": sed}
