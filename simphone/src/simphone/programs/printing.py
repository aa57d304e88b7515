"""echo and printf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .call import Call
from .flags import BadUsage

ESCAPE = re.compile(
    r"\\(?:([abefnrtv\\\"'])|x([0-9a-fA-F]{1,2})|(0[0-7]{0,3}|[1-7][0-7]{0,2})|(c)"
    r"|u([0-9a-fA-F]{1,4}))"
)
LETTERS = dict(zip("abefnrtv\\\"'", "\a\b\x1b\f\n\r\t\v\\\"'", strict=True))
DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|[0-9]{0,9})(?:\.(\*|[0-9]{0,9}))?([diouxXcsbeEfgGq%])")
MAX_WIDTH = 1 << 20


class Stopped(Exception):
    """`\\c`: print nothing more. Holds what came before it."""


def unescaped(text: str) -> str:
    pieces: list[bytes] = []
    at = 0
    for found in ESCAPE.finditer(text):
        pieces.append(_bytes(text[at : found.start()]))
        at = found.end()
        letter, hexadecimal, octal, stop, unicode = found.groups()
        if stop:
            raise Stopped(b"".join(pieces).decode("utf-8", "surrogateescape"))
        if letter:
            pieces.append(LETTERS[letter].encode())
        elif unicode:
            pieces.append(chr(int(unicode, 16)).encode("utf-8", "replace"))
        else:
            code = int(hexadecimal, 16) if hexadecimal else int(octal, 8)
            pieces.append(bytes([code & 0xFF]))
    pieces.append(_bytes(text[at:]))
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


async def echo(call: Call) -> int:
    """mksh's echo: backslashes count unless -E says they do not."""
    args = call.args
    newline, escapes = "\n", True
    while args and re.fullmatch(r"-[neE]+", args[0]):
        option = args.pop(0)
        newline = "" if "n" in option else newline
        for letter in option[1:]:
            escapes = {"e": True, "E": False}.get(letter, escapes)
    text = " ".join(args)
    if escapes:
        # \c takes the newline away, and nothing else.
        whole = re.sub(r"(?s)(\\\\|\\[^c\\])|\\c", lambda found: found[1] or "", text)
        newline = newline if whole == text else ""
        text = unescaped(whole)
    await call.out(text + newline)
    return 0


class Format:
    """One printf: the format is used again until the arguments are."""

    def __init__(self, template: str, args: list[str]) -> None:
        self._template = template
        self._args = args
        self._at = 0
        self.errors: list[str] = []

    def _next(self) -> str | None:
        if self._at >= len(self._args):
            return None
        self._at += 1
        return self._args[self._at - 1]

    def pieces(self) -> Iterator[str]:
        while True:
            before = self._at
            yield from self._once()
            if self._at == before or self._at >= len(self._args):
                return

    def _once(self) -> Iterator[str]:
        at = 0
        for found in DIRECTIVE.finditer(self._template):
            yield unescaped(self._template[at : found.start()])
            at = found.end()
            yield self._directive(found)
        yield unescaped(self._template[at:])

    def _directive(self, found: re.Match[str]) -> str:
        flags, width, precision, kind = found.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(self._integer(self._next()))
        if precision == "*":
            precision = str(self._integer(self._next()))
        if max(_count(width), _count(precision)) > MAX_WIDTH:
            self.errors.append("bad width")
            return ""
        spec = f"%{flags}{width}" + ("" if precision is None else f".{precision}")
        value = self._next()
        if kind in "sbq":
            text = value or ""
            if kind == "b":
                text = unescaped(text)
            return str((spec.replace("0", "", 1) if flags.startswith("0") else spec) + "s") % text
        if kind == "c":
            return (f"%{flags}{width}s") % (value or "")[:1]
        if kind in "eEfgG":
            return (spec + kind) % self._float(value)
        number = self._integer(value)
        if number < 0 and kind in "ouxX":
            number += 1 << 64
        return (spec + ("d" if kind in "iu" else kind)) % number

    def _integer(self, text: str | None) -> int:
        if not text:
            return 0
        if text[0] in "'\"":
            return ord(text[1]) if len(text) > 1 else 0
        try:
            plain = text.strip()
            octal = re.fullmatch(r"([-+]?)0([0-7]+)", plain)
            return int(octal.group(1) + octal.group(2), 8) if octal else int(plain[:40], 0)
        except ValueError:
            self.errors.append(f"bad %d {text[:80]}")
            return 0

    def _float(self, text: str | None) -> float:
        try:
            return float(text or 0)
        except ValueError:
            self.errors.append(f"bad %f {(text or '')[:80]}")
            return 0.0


def _count(text: str | None) -> int:
    return abs(int(text)) if text else 0


async def printf(call: Call) -> int:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not args:
        raise BadUsage("Needs 1 argument")
    form = Format(args[0], args[1:])
    pieces: list[str] = []
    try:
        pieces.extend(form.pieces())
    except Stopped as stopped:
        pieces.append(str(stopped))
    await call.out("".join(pieces))
    for error in form.errors:
        await call.err(f"printf: {error}\n")
    return 1 if form.errors else 0


PROGRAMS = {"echo": echo, "printf": printf}
