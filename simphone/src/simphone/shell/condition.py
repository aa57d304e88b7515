"""Is it true? What `test`, `[` and `[[` ask about strings, numbers and files."""

from __future__ import annotations

import stat
from collections.abc import Callable

from ..disk import Entry
from ..programs.call import Call
from ..world import World

NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
FILES: dict[str, Callable[[Entry], bool]] = {
    "-e": lambda e: True,
    "-a": lambda e: True,
    "-f": lambda e: e.is_file,
    "-d": lambda e: e.is_dir,
    "-s": lambda e: e.size > 0,
    "-r": lambda e: True,
    "-x": lambda e: e.is_dir or bool(e.mode & 0o111),
    "-c": lambda e: stat.S_ISCHR(e.mode),
    "-b": lambda e: stat.S_ISBLK(e.mode),
    "-p": lambda e: stat.S_ISFIFO(e.mode),
    "-S": lambda e: stat.S_ISSOCK(e.mode),
    "-u": lambda e: bool(e.mode & stat.S_ISUID),
    "-g": lambda e: bool(e.mode & stat.S_ISGID),
    "-k": lambda e: bool(e.mode & stat.S_ISVTX),
}
UNARY = frozenset([*FILES, "-n", "-z", "-L", "-h", "-w", "-t"])
BINARY = frozenset([*NUMERIC, *TEXTUAL, "-nt", "-ot", "-ef"])


class BadTest(Exception):
    """The question is not understood: status 2. The text is what is printed."""


class Facts:
    """The world as one user at one place sees it."""

    def __init__(self, world: World, uid: int, cwd: str, *, tty: bool = False) -> None:
        self._world = world
        self._uid = uid
        self._cwd = cwd
        self._tty = tty

    def _entry(self, path: str, *, follow: bool = True) -> Entry | None:
        try:
            return self._world.disk.entry(path, self._uid, self._cwd, follow=follow)
        except OSError:
            return None

    def unary(self, operator: str, value: str) -> bool:
        match operator:
            case "-n":
                return value != ""
            case "-z":
                return value == ""
            case "-t":
                return self._tty
            case "-L" | "-h":
                entry = self._entry(value, follow=False)
                return entry is not None and entry.is_link
            case "-w":
                return self._writable(value)
        entry = self._entry(value)
        return entry is not None and FILES[operator](entry)

    def _writable(self, path: str) -> bool:
        if self._entry(path) is None:
            return False
        if path in ("/dev/null", "/dev/tty", "/dev/zero"):
            return True
        try:
            self._world.disk.writable(path, self._uid, self._cwd)
        except OSError:
            return False
        return True

    def binary(self, left: str, operator: str, right: str) -> bool:
        if operator in TEXTUAL:
            return TEXTUAL[operator](left, right)
        if operator in NUMERIC:
            return NUMERIC[operator](integer(left), integer(right))
        first, second = self._entry(left), self._entry(right)
        if operator == "-ef":
            return first is not None and second is not None and first.path == second.path
        a, b = (first.mtime if first else -1.0), (second.mtime if second else -1.0)
        return a > b if operator == "-nt" else a < b


def integer(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise BadTest(f"{text}: bad number") from None


class Question:
    """The arguments of `test`, read by POSIX's rules: first by their number, then as a grammar."""

    def __init__(self, args: list[str], facts: Facts) -> None:
        self._args = args
        self._facts = facts
        self._at = 0

    def answer(self) -> bool:
        args, facts = self._args, self._facts
        match len(args):
            case 0:
                return False
            case 1:
                return args[0] != ""
            case 2 if args[0] == "!":
                return args[1] == ""
            case 3 if args[1] in BINARY:
                return facts.binary(args[0], args[1], args[2])
            case 4 if args[0] == "!":
                return not Question(args[1:], facts).answer()
        result = self._either()
        if self._at < len(args):
            raise BadTest(f"{args[self._at]}: unexpected operator/operand")
        return result

    def _peek(self, ahead: int = 0) -> str | None:
        at = self._at + ahead
        return self._args[at] if at < len(self._args) else None

    def _either(self) -> bool:
        result = self._both()
        while self._peek() == "-o":
            self._at += 1
            result = self._both() or result
        return result

    def _both(self) -> bool:
        result = self._not()
        while self._peek() == "-a":
            self._at += 1
            result = self._not() and result
        return result

    def _not(self) -> bool:
        negated = False
        while self._peek() == "!" and self._peek(1) is not None:
            self._at += 1
            negated = not negated
        return self._primary() != negated

    def _primary(self) -> bool:
        first, second, third = self._peek(), self._peek(1), self._peek(2)
        if first is None:
            raise BadTest("argument expected")
        if second in BINARY and third is not None:
            self._at += 3
            return self._facts.binary(first, second or "", third)
        if first == "(":
            return self._grouped()
        if first in UNARY and second is not None:
            self._at += 2
            return self._facts.unary(first, second)
        self._at += 1
        return first != ""

    def _grouped(self) -> bool:
        depth, end = 0, self._at
        for end in range(self._at, len(self._args)):
            depth += (self._args[end] == "(") - (self._args[end] == ")")
            if depth == 0:
                break
        if depth:
            raise BadTest("missing )")
        if end - self._at > 1000:
            raise BadTest("too many arguments")
        inner = Question(self._args[self._at + 1 : end], self._facts)
        self._at = end + 1
        return inner.answer()


async def test(call: Call) -> int:
    """The program, under both its names."""
    args = call.args
    if call.name.rpartition("/")[2] == "[":
        if not args or args[-1] != "]":
            return await call.fail("[: missing ]", 2)
        args = args[:-1]
    facts = Facts(call.world, call.uid, call.cwd, tty=call.tty)
    if sum(arg == "(" for arg in args) > 20:
        return await call.fail("test: nested too deeply", 2)
    try:
        return 0 if Question(args, facts).answer() else 1
    except BadTest as error:
        return await call.fail(f"{call.name}: {error}", 2)
