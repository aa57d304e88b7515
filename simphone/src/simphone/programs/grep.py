"""grep, egrep, fgrep: lines that match an expression."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from ..expression import IGNORE_CASE, LEFTMOST_LONGEST, BadSource, Expression, TooSlow
from .call import Call
from .files import complain, entry
from .flags import BadValue, Flags, flags
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
            continue
        try:
            compiled(pattern, extended="E" in given)  # its own error, not the sum's
        except BadExpression as error:
            raise BadExpression(f"bad regex '{pattern[:80]}': {error}") from None
        alternatives.append(translated(pattern, extended="E" in given))
    source = (
        alternatives[0] if len(alternatives) == 1 else "|".join(f"(?:{a})" for a in alternatives)
    )
    if "x" in given:
        source = rf"\A(?:{source})\Z"
    elif "w" in given:
        source = rf"(?<!\w)(?:{source})(?!\w)"
    longest = LEFTMOST_LONGEST if "|" in source else 0
    try:
        return Expression(source, longest | (IGNORE_CASE if "i" in given else 0))
    except BadSource as error:
        raise BadExpression(f"bad regex: {error}") from None


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
        except IsADirectoryError as error:
            await complain(self.call, path, error)  # and yet toybox exits as if it were empty
        except OSError as error:
            await self._refused(path, error)

    async def _refused(self, path: str, error: OSError) -> None:
        self.failed = True
        if "s" not in self.given or isinstance(error, BrokenPipeError):
            await complain(self.call, path, error)

    async def _lines(self, path: str, label: str) -> None:
        given, call = self.given, self.call
        count = number = offset = after = 0
        limit = given.number("m", -1)
        around = given.number("C", 0)
        later, earlier = given.number("A", around), given.number("B", around)
        listing = bool(given.names & {"c", "l", "L", "q"})
        before: deque[tuple[int, int, str]] = deque(maxlen=earlier)
        shown = 0  # the number of the last line that was printed
        with reading(call, path) as source:
            async for raw in lines(source, b"\0" if "z" in given else b"\n"):
                if count == limit:
                    break
                number += 1
                line = raw[:-1] if raw.endswith((b"\n", b"\0")) else raw
                text = line.decode("utf-8", "surrogateescape")
                here, offset = offset, offset + len(raw)
                if (self.expression.search(text) is not None) == ("v" in given):
                    if after and not listing:
                        after -= 1
                        shown = number
                        await self._show(label, number, here, text, "-")
                    else:
                        before.append((number, here, text))
                    continue
                count += 1
                self.matched = True
                if given.names & {"q", "l"}:
                    break
                if listing:
                    continue
                first = before[0][0] if before else number
                if shown and (later or earlier) and first > shown + 1:
                    await call.out("--\n")
                for context in before:
                    await self._show(label, *context, "-")
                before.clear()
                await self._show(label, number, here, text, ":")
                shown, after = number, later
        await self._summary(label, count)

    async def _summary(self, label: str, count: int) -> None:
        given, call = self.given, self.call
        if "q" in given:
            return
        if "l" in given or "L" in given:
            if bool(count) == ("l" in given):
                await call.out(label + "\n")
        elif "c" in given:
            await call.out(f"{label}:{count}\n" if self.named else f"{count}\n")

    async def _show(self, label: str, number: int, offset: int, line: str, mark: str) -> None:
        given = self.given
        prefix = label + mark if self.named else ""
        prefix += f"{number}{mark}" if "n" in given else ""
        end = "\0" if "z" in given else "\n"
        if "o" not in given:
            prefix += f"{offset}{mark}" if "b" in given else ""
            await self.call.out(prefix + line + end)
        elif "v" not in given and mark == ":":
            for found in self.expression.found(line):
                if found.group():
                    at = len(line[: found.start()].encode("utf-8", "surrogateescape"))
                    where = f"{offset + at}:" if "b" in given else ""
                    await self.call.out(f"{prefix}{where}{found.group()}{end}")

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


async def grep(call: Call) -> int:
    given = flags(call.args, "EFivclLnqrRoe:f:wxhHsabm:A:B:C:zy", LONG)
    letter = {"egrep": "E", "fgrep": "F"}.get(call.name.rpartition("/")[2], "")
    given = Flags(given.names | {letter}, given.values, given.rest)
    patterns = list(given.values.get("e", []))
    paths = list(given.rest)
    for path in given.values.get("f", []):
        data = call.world.disk.read(path, call.uid, call.cwd)
        patterns += data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    if not patterns:
        if not paths:
            raise BadValue("no REGEX", 2)
        patterns.append(paths.pop(0))
    try:
        expression = wanted(given, patterns)
    except BadExpression as error:
        return await call.fail(f"grep: {error}", 2)
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
