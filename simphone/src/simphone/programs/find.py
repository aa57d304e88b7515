"""find: files below a place that pass every test."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..disk import Entry
from ..layout import number
from ..shell import pattern
from .call import Call
from .files import complain, entry, remove
from .flags import BadUsage, BadValue
from .listing import stamp, stat_field
from .shells import start

MAX_DEPTH = 64
TYPES = {"f": stat.S_IFREG, "d": stat.S_IFDIR, "l": stat.S_IFLNK, "c": stat.S_IFCHR}
TYPES |= {"b": stat.S_IFBLK, "p": stat.S_IFIFO, "s": stat.S_IFSOCK}
FORMAT = re.compile(r"%(T@|[a-zA-Z%])|(\\.)")
SIZES = {"c": 1, "k": 1024, "M": 1 << 20, "G": 1 << 30, "b": 512}


@dataclass(frozen=True)
class Seen:
    path: str
    entry: Entry
    depth: int
    start: str = ""  # the path it was found below

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2] or self.path


Test = Callable[[Seen], Awaitable[bool]]


def _plain(test: Callable[[Seen], bool]) -> Test:
    async def run(seen: Seen) -> bool:
        return test(seen)

    return run


def _compared(text: str, value: int) -> bool:
    number = int(text.lstrip("+-"))
    return (
        value > number if text[0] == "+" else value < number if text[0] == "-" else value == number
    )


class Expression:
    """The tests after the paths: `-o` under and, `!`, parentheses."""

    def __init__(self, call: Call, words: list[str]) -> None:
        self._call = call
        self._words = words
        self._at = 0
        self._depth = 0
        self.acts = False  # whether something else than -print happens
        self.min_depth = 0
        self.max_depth = MAX_DEPTH
        self.depth_first = False
        self.pruned: set[str] = set()  # folders that are not entered
        self.ended = False  # by -quit
        self.batches: list[tuple[list[str], list[str]]] = []  # -exec ... +

    def parse(self) -> Test:
        if not self._words:
            return _plain(lambda _: True)
        test = self._either()
        if self._at < len(self._words):
            raise BadValue(f"bad arg '{self._words[self._at]}'")
        return test

    def _peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _argument(self) -> str:
        self._at += 1
        if self._at > len(self._words):
            raise BadValue(f"'{self._words[-1]}' needs 1 arg")
        return self._words[self._at - 1]

    def _either(self) -> Test:
        first = self._both()
        while self._peek() in ("-o", "-or"):
            self._at += 1
            first = _or(first, self._both())
        return first

    def _both(self) -> Test:
        first = self._one()
        while self._peek() not in ("", ")", "-o", "-or"):
            if self._peek() in ("-a", "-and"):
                self._at += 1
            first = _and(first, self._one())
        return first

    def _one(self) -> Test:
        word = self._argument()
        if word in ("!", "-not", "("):
            self._depth += 1
            if self._depth > 50:
                raise BadUsage("nested too deeply")
            if word == "(":
                inner = self._either()
                if self._argument() != ")":
                    raise BadUsage("bad arg '('")
            else:
                inner = _not(self._one())
            self._depth -= 1
            return inner
        return self._primary(word)

    def _primary(self, word: str) -> Test:
        call = self._call
        now = call.world.clock.now()
        match word:
            case "-name" | "-iname" | "-path" | "-ipath" | "-wholename":
                fold = word.startswith("-i")
                wanted = self._argument()
                segments = ((wanted.lower() if fold else wanted, False),)
                whole = word.endswith(("path", "wholename"))

                def named(seen: Seen) -> bool:
                    text = seen.path if whole else seen.name
                    return pattern.matches(text.lower() if fold else text, segments)

                return _plain(named)
            case "-type":
                text = self._argument()
                if not text or set(text.split(",")) - TYPES.keys():
                    raise BadValue(f"bad -type '{text}'")
                kinds = [TYPES[letter] for letter in text.split(",")]
                return _plain(lambda seen: stat.S_IFMT(seen.entry.mode) in kinds)
            case "-maxdepth":
                self.max_depth = min(MAX_DEPTH, self._number())
                return _plain(lambda _: True)
            case "-mindepth":
                self.min_depth = self._number()
                return _plain(lambda _: True)
            case "-depth" | "-xdev" | "-follow":
                self.depth_first = self.depth_first or word == "-depth"
                return _plain(lambda _: True)
            case "-size":
                text = self._argument()
                unit = SIZES.get(text[-1:], 512)
                digits = text[:-1] if text[-1:] in SIZES else text
                _checked(digits)
                return _plain(lambda seen: _compared(digits, -(-seen.entry.size // unit)))
            case "-mtime" | "-mmin":
                text = _checked(self._argument())
                step = 86400 if word == "-mtime" else 60
                return _plain(lambda seen: _compared(text, int((now - seen.entry.mtime) // step)))
            case "-newer":
                than = entry(call, self._argument()).mtime
                return _plain(lambda seen: seen.entry.mtime > than)
            case "-perm":
                text = self._argument()
                bits = int(text.lstrip("-/+"), 8)
                return _plain(lambda seen: _permitted(text, bits, seen.entry.mode))
            case "-empty":
                return _plain(self._empty)
            case "-user" | "-group":
                name = self._argument()
                wanted_id = number(name)
                if wanted_id is None:
                    raise BadValue(f"bad {word[1:]} '{name[:80]}'")
                return _plain(
                    lambda seen: (
                        (seen.entry.uid if word == "-user" else seen.entry.gid) == wanted_id
                    )
                )
            case "-executable":
                return _plain(lambda seen: bool(seen.entry.mode & 0o111))
            case "-prune":

                def pruned(seen: Seen) -> bool:
                    self.pruned.add(seen.path)
                    return True

                return _plain(pruned)
            case "-true" | "-false":
                return _plain(lambda _: word == "-true")
        self.acts = True
        return self._action(word)

    def _action(self, word: str) -> Test:
        call = self._call
        match word:
            case "-print" | "-print0":
                end = "\n" if word == "-print" else "\0"

                async def shown(seen: Seen) -> bool:
                    await call.out(seen.path + end)
                    return True

                return shown
            case "-ls":

                async def listed(seen: Seen) -> bool:
                    mode, when = stat.filemode(seen.entry.mode), stamp(seen.entry.mtime)
                    await call.out(f"{mode} {seen.entry.size} {when} {seen.path}\n")
                    return True

                return listed
            case "-delete":
                self.depth_first = True

                async def deleted(seen: Seen) -> bool:
                    try:
                        folder = seen.entry.is_dir
                        if folder:
                            host = call.world.disk.writable(seen.path, call.uid, call.cwd)
                            host.rmdir()
                        else:
                            await remove(call, seen.path, recursive=False)
                    except OSError as error:
                        await complain(call, seen.path, error)
                        return False
                    return True

                return deleted
            case "-exec" | "-ok" | "-execdir":
                return self._exec()
            case "-printf":
                form = self._argument()

                async def formatted(seen: Seen) -> bool:
                    await call.out(FORMAT.sub(lambda found: _directive(found, seen), form))
                    return True

                return formatted
            case "-quit":

                async def ended(_: Seen) -> bool:
                    self.ended = True
                    return True

                return ended
        raise BadValue(f"bad arg '{word}'")

    def _exec(self) -> Test:
        argv: list[str] = []
        while (word := self._argument()) not in (";", "+"):
            argv.append(word)
        if not argv:
            raise BadValue("'exec' needs 1 arg")
        if word == "+":
            paths: list[str] = []
            self.batches.append((argv, paths))

            async def gathered(seen: Seen) -> bool:
                paths.append(seen.path)
                return True

            return gathered

        async def run(seen: Seen) -> bool:
            words = [part.replace("{}", seen.path) for part in argv]
            return await start(self._call, words) == 0

        return run

    def _number(self) -> int:
        return int(_checked(self._argument()))

    def _empty(self, seen: Seen) -> bool:
        if seen.entry.is_dir:
            return not self._call.world.disk.names(seen.path, self._call.uid, self._call.cwd)
        return seen.entry.size == 0


def _directive(found: re.Match[str], seen: Seen) -> str:
    """What one part of a -printf format becomes."""
    letter, escape = found.groups()
    if escape:
        return {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}.get(escape[1], escape)
    entry = seen.entry
    match letter:
        case "f":
            return seen.name
        case "p":
            return seen.path
        case "P":
            return seen.path.removeprefix(seen.start).lstrip("/")
        case "l":
            return entry.target
        case "m":
            return f"{stat.S_IMODE(entry.mode):o}"
        case "T@":
            return f"{entry.mtime:.9f}"
    stats = {"g": "G", "G": "g", "i": "i", "M": "A", "s": "s", "u": "U", "U": "u", "b": "b"}
    return "%" if letter == "%" else stat_field(stats.get(letter, "?"), seen.path, entry)


def _checked(text: str) -> str:
    if not text.lstrip("+-").isdecimal() or len(text) > 20:
        raise BadValue(f"not integer: {text[:80]}")
    return text


def _permitted(text: str, bits: int, mode: int) -> bool:
    if text[0] == "-":
        return mode & bits == bits
    return bool(mode & bits) if text[0] in "/+" else stat.S_IMODE(mode) == bits


def _and(first: Test, second: Test) -> Test:
    async def run(seen: Seen) -> bool:
        return await first(seen) and await second(seen)

    return run


def _or(first: Test, second: Test) -> Test:
    async def run(seen: Seen) -> bool:
        return await first(seen) or await second(seen)

    return run


def _not(test: Test) -> Test:
    async def run(seen: Seen) -> bool:
        return not await test(seen)

    return run


async def find(call: Call) -> int:
    words = call.args
    while words and words[0] in ("-H", "-L", "-P"):
        words.pop(0)
    paths: list[str] = []
    while words and not words[0].startswith(("-", "(", "!")):
        paths.append(words.pop(0))
    expression = Expression(call, words)
    test = expression.parse()
    status = 0

    async def visit(path: str, depth: int, start: str) -> None:
        nonlocal status
        await asyncio.sleep(0)
        if expression.ended:
            return
        try:
            # A path that was named is entered even where it is a link, like /sdcard.
            seen = Seen(path, entry(call, path, follow=depth == 0), depth, start)
        except OSError as error:
            status = await complain(call, path, error, quoted=True)
            return
        wanted = depth >= expression.min_depth
        if wanted and not expression.depth_first:
            await judged(seen)
        entered = seen.entry.is_dir and path not in expression.pruned
        if entered and depth < expression.max_depth:
            try:
                names = call.world.disk.names(path, call.uid, call.cwd)
            except OSError as error:
                status = await complain(call, path, error, quoted=True)
                names = []
            for name in names:
                await visit(f"{path.rstrip('/')}/{name}", depth + 1, start)
        if wanted and expression.depth_first:
            await judged(seen)

    async def judged(seen: Seen) -> None:
        if await test(seen) and not expression.acts:
            await call.out(seen.path + "\n")

    for path in paths or ["."]:
        await visit(path, 0, path)
    for argv, found in expression.batches:
        if found:
            status |= await start(call, _spread(argv, found))
    return status


def _spread(argv: list[str], found: list[str]) -> list[str]:
    return [word for part in argv for word in (found if part == "{}" else [part])]


PROGRAMS = {"find": find}
