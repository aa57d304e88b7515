"""grep, egrep, fgrep: lines that match an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..expression import IGNORE_CASE, BadSource, Expression, TooSlow
from .call import Call
from .files import complain, entry
from .flags import BadUsage, Flags, flags
from .opening import lines, reading
from .regex import BadExpression, compiled, translated

LONG = {
    "ignore-case": "i",
    "invert-match": "v",
    "count": "c",
    "files-with-matches": "l",
    "line-number": "n",
    "quiet": "q",
    "silent": "q",
    "recursive": "r",
    "only-matching": "o",
    "regexp": "e",
    "word-regexp": "w",
    "line-regexp": "x",
    "extended-regexp": "E",
    "fixed-strings": "F",
    "max-count": "m",
    "no-messages": "s",
    "no-filename": "h",
    "text": "a",
    "color": "y",
    "line-buffered": "y",
}
MAX_DEPTH = 64


def wanted(given: Flags, patterns: list[str]) -> Expression:
    """One expression for all patterns and the options that bend them."""
    alternatives: list[str] = []
    for pattern in (line for text in patterns for line in text.split("\n")):
        if "F" in given:
            alternatives.append(re.escape(pattern))
        else:
            compiled(pattern, extended="E" in given)  # its own error, not the sum's
            alternatives.append(translated(pattern, extended="E" in given))
    source = (
        alternatives[0] if len(alternatives) == 1 else "|".join(f"(?:{a})" for a in alternatives)
    )
    if "x" in given:
        source = rf"\A(?:{source})\Z"
    elif "w" in given:
        source = rf"(?<!\w)(?:{source})(?!\w)"
    try:
        return Expression(source, IGNORE_CASE if "i" in given else 0)
    except BadSource as error:
        raise BadExpression(str(error)) from None


@dataclass
class Search:
    call: Call
    given: Flags
    expression: Expression
    named: bool  # whether lines carry their file's name
    matched: bool = False
    failed: bool = False

    async def file(self, path: str, label: str) -> None:
        try:
            await self._lines(path, label)
        except OSError as error:
            await self._refused(path, error)

    async def _refused(self, path: str, error: OSError) -> None:
        self.failed = True
        if "s" not in self.given or isinstance(error, BrokenPipeError):
            await complain(self.call, path, error)

    async def _lines(self, path: str, label: str) -> None:
        given, call = self.given, self.call
        count = 0
        limit = given.number("m", -1)
        prefix = f"{label}:" if self.named else ""
        after = 0
        context = given.number("A", given.number("C", 0))
        with reading(call, path) as source:
            number = 0
            async for raw in lines(source):
                if count == limit:
                    break
                number += 1
                line = raw.removesuffix(b"\n").decode("utf-8", "surrogateescape")
                hit = (self.expression.search(line) is not None) != ("v" in given)
                if not hit:
                    if after and not given.names & {"c", "l", "q"}:
                        after -= 1
                        await call.out(
                            f"{label}-" * self.named + _numbered(given, number, "-") + line + "\n"
                        )
                    continue
                count += 1
                after = context
                self.matched = True
                if "q" in given or "l" in given:
                    break
                if "c" not in given:
                    await self._show(prefix + _numbered(given, number, ":"), line)
        if "q" in given:
            return
        if "l" in given:
            if count:
                await call.out(label + "\n")
        elif "L" in given:
            if not count:
                await call.out(label + "\n")
        elif "c" in given:
            await call.out(f"{prefix}{count}\n")

    async def _show(self, prefix: str, line: str) -> None:
        if "L" in self.given:
            return
        if "o" not in self.given:
            await self.call.out(f"{prefix}{line}\n")
        elif "v" not in self.given:
            for found in self.expression.found(line):
                if found.group():
                    await self.call.out(f"{prefix}{found.group()}\n")

    async def tree(self, path: str, depth: int = 0) -> None:
        try:
            seen = entry(self.call, path, follow=depth == 0)
            if not seen.is_dir:
                if seen.is_file:
                    await self.file(path, path)
                return
            names = self.call.world.disk.names(path, self.call.uid, self.call.cwd)
        except OSError as error:
            await self._refused(path, error)
            return
        if depth < MAX_DEPTH:
            for name in names:
                await self.tree(f"{path.rstrip('/')}/{name}", depth + 1)


def _numbered(given: Flags, number: int, mark: str) -> str:
    return f"{number}{mark}" if "n" in given else ""


async def grep(call: Call) -> int:
    given = flags(call.args, "EFivclLnqrRoe:f:wxhHsam:A:B:C:zy", LONG)
    letter = {"egrep": "E", "fgrep": "F"}.get(call.name.rpartition("/")[2], "")
    given = Flags(given.names | {letter}, given.values, given.rest)
    patterns = list(given.values.get("e", []))
    paths = list(given.rest)
    for path in given.values.get("f", []):
        data = call.world.disk.read(path, call.uid, call.cwd)
        patterns += data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    if not patterns:
        if not paths:
            raise BadUsage("no REGEX")
        patterns.append(paths.pop(0))
    try:
        expression = wanted(given, patterns)
    except BadExpression as error:
        return await call.fail(f"grep: bad REGEX: {error}", 2)
    recursive = bool(given.names & {"r", "R"})
    named = "H" in given or ("h" not in given and (recursive or len(paths) > 1))
    search = Search(call, given, expression, named)
    try:
        if recursive:
            for path in paths or ["."]:
                await search.tree(path)
        else:
            for path in paths or ["-"]:
                await search.file(path, "(standard input)" if path == "-" else path)
    except TooSlow as error:  # 1 would say that no line matches, which nobody knows
        return await call.fail(f"grep: {error}", 2)
    if search.failed and not (search.matched and "q" in given):
        return 2
    return 0 if search.matched else 1


PROGRAMS = {"grep": grep, "egrep": grep, "fgrep": grep}
