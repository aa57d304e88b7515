"""What does a word become? Parameters, substitutions, arithmetic, splitting and file names."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from ..streams import Collected
from . import pattern
from .arithmetic import BadExpression, Evaluation
from .pattern import Segment
from .state import DEFAULT_IFS, Shell
from .syntax import Arithmetic, Literal, Parameter, Script, Substitution, Word

MAX_FIELDS = 100_000
# Characters: of one word or one command's words, and of all that a shell's variables hold.
MAX_VALUE = 16 << 20
MAX_MEMORY = 32 << 20
# Words below this are not worth counting what is held already.
SMALL = 4096
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
NO_MEMORY = "out of memory"

Field = list[Segment]


class ExpansionError(Exception):
    """A word cannot be expanded: the command is not run. The text is what the shell prints."""


class Expander:
    """Expands words for one shell; `run` executes a substitution's script in a subshell."""

    def __init__(self, shell: Shell, run: Callable[[Shell, Script], Awaitable[int]]) -> None:
        self._shell = shell
        self._run = run
        self.substituted = 0  # the code of the last substitution

    async def fields(self, words: tuple[Word, ...]) -> list[str]:
        """Words as a command's arguments."""
        found: list[str] = []
        size = 0
        for word in words:
            fields = await self._split(word)
            size += sum(len(text) for field in fields for text, _ in field)
            for field in fields:
                found.extend(self._names(field))
            if len(found) > MAX_FIELDS or size > MAX_VALUE:
                raise ExpansionError("argument list too long")
        return found

    async def text(self, word: Word) -> str:
        """A word that stays one: assignments, redirections, here-documents."""
        return "".join(text for text, _ in await self.segments(word))

    async def segments(self, word: Word) -> Field:
        """A word that stays one, with its quoting, as patterns need it."""
        joined: Field = []
        ifs = self._shell.variables.get("IFS", DEFAULT_IFS)
        for piece in await self._pieces(word):
            if isinstance(piece, list):
                joined.append(((ifs[:1] if piece else "").join(text for text in piece), True))
            else:
                joined.append(piece[:2])
        return joined

    async def _split(self, word: Word) -> list[Field]:
        """The fields of a word, before file names."""
        fields: list[Field] = []
        open_field = False
        ifs = self._shell.variables.get("IFS", DEFAULT_IFS)

        def add(segment: Segment) -> None:
            nonlocal open_field
            if not open_field:
                fields.append([])
                open_field = True
            fields[-1].append(segment)

        for piece in await self._pieces(word):
            if isinstance(piece, list):
                for index, text in enumerate(piece):
                    if index:
                        open_field = False
                    add((text, True))
                continue
            text, quoted, splits = piece
            if not splits:
                if text or quoted:
                    add((text, quoted))
                continue
            before, texts, after = split(text, ifs)
            open_field = open_field and not before
            for index, part in enumerate(texts):
                if index:
                    open_field = False
                add((part, False))
            if after:
                open_field = False
        return fields

    async def _pieces(self, word: Word) -> list[tuple[str, bool, bool] | list[str]]:
        """(text, quoted, to be split), or the list of fields that "$@" is."""
        pieces: list[tuple[str, bool, bool] | list[str]] = []
        size = counted = 0
        for index, part in enumerate(word.parts):
            match part:
                case Literal(text, quoted):
                    if index == 0 and not quoted and "~" in text:
                        # mksh expands it in every word that looks like an assignment.
                        head, equals, _ = text.rpartition("=")
                        plain = head + equals if ASSIGNED.fullmatch(head + equals) else ""
                        if text[len(plain) :].startswith("~"):
                            text = plain + self._tilde(text[len(plain) :])
                    pieces.append((text, quoted, False))
                case Parameter():
                    pieces.extend(await self._parameter(part))
                case Substitution(script, quoted):
                    value = await self._substitute(script)
                    pieces.append((value, quoted, not quoted))
                case Arithmetic(expression, quoted):
                    value = self.arithmetic(await self.text(expression))
                    pieces.append((value, quoted, not quoted))
            for piece in pieces[counted:]:
                size += sum(map(len, piece)) if isinstance(piece, list) else len(piece[0])
            counted = len(pieces)
            self._afford(size)
        return pieces

    def _afford(self, size: int) -> None:
        """ExpansionError where a word of this size is more than the phone has memory for."""
        if size > MAX_VALUE or (size > SMALL and size + self._shell.held() > MAX_MEMORY):
            raise ExpansionError(NO_MEMORY)

    def _tilde(self, text: str) -> str:
        user, slash, rest = text[1:].partition("/")
        homes = {"": self._shell.variables.get("HOME", "/"), "root": "/", "shell": "/"}
        if user == "+":
            homes["+"] = self._shell.cwd
        home = homes.get(user)
        return text if home is None else (home.rstrip("/") if slash else home) + slash + rest

    async def _substitute(self, script: Script) -> str:
        shell = self._shell.fork()
        output = Bounded(MAX_VALUE)
        shell.files[1] = output
        self.substituted = await self._run(shell, script)
        if output.full:
            raise ExpansionError(NO_MEMORY)
        text = output.data.decode("utf-8", "surrogateescape")
        return text.replace("\0", "").rstrip("\n")

    def arithmetic(self, text: str) -> str:
        shell = self._shell
        try:
            return str(Evaluation(text, lambda name: shell.get(name) or "", shell.put).value())
        except BadExpression as error:
            raise ExpansionError(str(error)) from None

    async def _parameter(self, part: Parameter) -> list[tuple[str, bool, bool] | list[str]]:
        shell = self._shell
        if part.name in ("@", "*"):
            if part.operator == "len":
                return [(str(len(shell.positional)), part.quoted, not part.quoted)]
            value = " ".join(shell.positional) if shell.positional else None
            if part.quoted and part.name == "@" and not part.operator:
                return [list(shell.positional)]
            if part.quoted and value is not None:
                value = shell.variables.get("IFS", DEFAULT_IFS)[:1].join(shell.positional)
        else:
            value = shell.get(part.name)
        operator = part.operator
        if operator == "len":
            return [(str(len(value or "")), part.quoted, not part.quoted)]
        if value is None and "u" in shell.options and operator.lstrip(":") not in tuple("-=?+"):
            raise ExpansionError(f"{part.name}: parameter not set")
        if operator.lstrip(":") in ("-", "=", "?", "+") and operator:
            missing = value is None or (operator.startswith(":") and value == "")
            kind = operator[-1]
            if kind == "+":
                return [] if missing else await self._operand(part)
            if missing:
                return await self._missing(part, kind)
        return [(await self._changed(part, value or ""), part.quoted, not part.quoted)]

    async def _operand(self, part: Parameter) -> list[tuple[str, bool, bool] | list[str]]:
        pieces = await self._pieces(part.word or Word())
        if part.quoted:
            return pieces or [("", True, False)]
        # What stood unquoted in the operand is split as the value would have been.
        return [p if isinstance(p, list) else (p[0], p[1], not p[1]) for p in pieces]

    async def _missing(
        self, part: Parameter, kind: str
    ) -> list[tuple[str, bool, bool] | list[str]]:
        if kind == "-":
            return await self._operand(part)
        text = await self.text(part.word or Word())
        if kind == "?":
            raise ExpansionError(f"{part.name}: {text or 'parameter null or not set'}")
        self._shell.put(part.name, text)
        return [(text, part.quoted, not part.quoted)]

    async def _changed(self, part: Parameter, value: str) -> str:
        match part.operator:
            case "#" | "##" | "%" | "%%":
                segments = await self.segments(part.word or Word())
                return pattern.trim(value, segments, part.operator)
            case "/" | "//":
                segments = await self.segments(part.word or Word())
                if not any(text for text, _ in segments):
                    return value
                new = await self.text(part.second or Word())
                count = 1 if part.operator == "/" else 0
                size = len(value)

                def put(_: object) -> str:
                    nonlocal size
                    size += len(new)
                    if size > MAX_VALUE + len(value):
                        raise ExpansionError(NO_MEMORY)
                    return new

                return pattern.compiled(tuple(segments)).sub(put, value, count=count)
            case ":":
                return await self._substring(part, value)
        return value

    async def _substring(self, part: Parameter, value: str) -> str:
        start = int(self.arithmetic(await self.text(part.word or Word())))
        start = max(0, len(value) + start) if start < 0 else start
        if part.second is None:
            return value[start:]
        length = int(self.arithmetic(await self.text(part.second)))
        return value[start : start + length] if length >= 0 else value[start:length]

    def _names(self, field: Field) -> list[str]:
        """The guest's files that a field names, or the field itself."""
        text = "".join(part for part, _ in field)
        if "f" in self._shell.options or not pattern.magic(field):
            return [text]
        return self._glob(field) or [text]

    def _glob(self, field: Field) -> list[str]:
        shell = self._shell
        steps: list[Field] = [[]]
        for text, quoted in field:
            for index, piece in enumerate(text.split("/")):
                if index:
                    steps.append([])
                steps[-1].append((piece, quoted))
        found = [""]
        for index, step in enumerate(steps):
            last = index == len(steps) - 1
            plain = "".join(text for text, _ in step)
            slash = "" if last else "/"
            if not pattern.magic(step):
                found = [base + plain + slash for base in found]
                if last:
                    found = [path for path in found if self._exists(path)]
                continue
            grown: list[str] = []
            for base in found:
                try:
                    names = shell.world.disk.names(base or ".", shell.uid, shell.cwd)
                except OSError:
                    continue  # what cannot be listed holds no match
                hidden = plain.startswith(".")
                grown.extend(
                    base + name + slash
                    for name in sorted(names)
                    if (hidden or not name.startswith(".")) and pattern.matches(name, step)
                )
            found = grown[:MAX_FIELDS]
        return found

    def _exists(self, path: str) -> bool:
        return self._shell.world.disk.exists(path, self._shell.uid, self._shell.cwd)


class Bounded(Collected):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self.full = False

    async def write(self, data: bytes) -> None:
        if len(self.data) + len(data) > self._limit:
            self.full = True
            raise BrokenPipeError
        await super().write(data)


def split(text: str, ifs: str) -> tuple[bool, list[str], bool]:
    """Field splitting: (a break before, the fields, a break after)."""
    if not text:
        return False, [], False
    if not ifs:
        return False, [text], False
    if ifs == DEFAULT_IFS:
        texts = [t for t in text.replace("\t", " ").replace("\n", " ").split(" ") if t]
        return text[0] in ifs, texts, text[-1] in ifs
    blank = "".join(char for char in ifs if char in DEFAULT_IFS)
    stripped = text.strip(blank) if blank else text
    if not stripped:
        return True, [], True
    before = text[0] in blank
    after = text[-1] in ifs
    texts = []
    current: list[str] = []
    i = 0
    while i < len(stripped):
        char = stripped[i]
        if char not in ifs:
            current.append(char)
            i += 1
            continue
        hard = 0
        while i < len(stripped) and stripped[i] in ifs and not (hard and stripped[i] not in blank):
            hard += stripped[i] not in blank
            i += 1
        texts.append("".join(current))
        current = []
    if current:
        texts.append("".join(current))
    return before, texts, after
