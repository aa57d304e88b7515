"""POSIX regular expressions, basic and extended, translated to the engine's syntax."""

from __future__ import annotations

import re

from ..expression import IGNORE_CASE, LEFTMOST_LONGEST, BadSource, Expression
from ..shell.pattern import bracket

# The C library's texts for what the engine refuses in its own.
BRACKETS = "brackets ([ ]) not balanced"
BRACES = "braces not balanced"
COUNTS = "invalid repetition count(s)"
PARENTHESES = "parentheses not balanced"
OPERAND = "repetition-operator operand invalid"
TEXTS = {"parenthesis": PARENTHESES, "missing )": PARENTHESES, "min repeat": COUNTS}
TEXTS |= {"repeat": OPERAND}


class BadExpression(Exception):
    """The expression cannot be compiled; the text is the C library's."""


def translated(source: str, *, extended: bool) -> str:
    """The same expression in the engine's syntax, which is Python's."""
    pieces: list[str] = []
    i = 0
    can_repeat = False  # something stands before a `*`
    repeated = False  # and it is a repetition itself
    while i < len(source):
        char = source[i]
        if char == "[":
            found = bracket(source, i, negations="^")
            if found is None:
                raise BadExpression(BRACKETS)
            pieces.append(found[0])
            i = found[1]
            can_repeat, repeated = True, False
            continue
        if char == "\\":
            char = source[i + 1 : i + 2]
            i += 2
            if not char:
                raise BadExpression("trailing backslash (\\)")
            special = not extended and char in "(){}|+?"
            piece = char if special else _escaped(char)
            if special and char == "{":
                piece, i = _repeat(source, i, "\\}")
        else:
            i += 1
            special = char in ".*^$" or (extended and char in "(){}|+?")
            piece = char if special else re.escape(char)
            if char in "*+?" and extended and not can_repeat:
                raise BadExpression(OPERAND)
            if char == "*" and not can_repeat:
                special, piece = False, r"\*"
            elif char == "^" and not extended and pieces and pieces[-1] not in ("(", "|"):
                special, piece = False, r"\^"
            elif char == "$" and not extended and not _ends(source, i):
                special, piece = False, r"\$"
            elif char == "$":
                piece = r"\Z"
            elif special and char == "{":
                if re.match(r"[0-9]+(,[0-9]*)?\}", source[i:]):
                    piece, i = _repeat(source, i, "}")
                else:
                    special, piece = False, r"\{"
            elif special and char == "}":
                special, piece = False, r"\}"
        repeats = special and char in "*+?{"
        if repeats and repeated:
            # `a*+` repeats a repetition, which the engine reads as something else.
            pieces[-1] = "*"
            continue
        repeated = repeats
        pieces.append(piece)
        can_repeat = not (special and char in "(|^")
    return "".join(pieces)


def _ends(source: str, at: int) -> bool:
    """Whether a basic expression, or a part of it, ends here."""
    return at >= len(source) or source.startswith(("\\)", "\\|"), at)


def _escaped(char: str) -> str:
    if char in "123456789":
        return f"(?:\\{char})"
    known = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b": r"\b", "B": r"\B", "n": r"\n", "t": r"\t"}
    if char in "wWsS":
        return "\\" + char
    return known.get(char, re.escape(char))


def _repeat(source: str, at: int, closing: str) -> tuple[str, int]:
    end = source.find(closing, at)
    if end < 0:
        raise BadExpression(BRACES)
    counts = source[at:end]
    if not re.fullmatch(r"[0-9]{1,5}(,[0-9]{0,5})?", counts):
        raise BadExpression(COUNTS)
    return "{" + counts + "}", end + len(closing)


def compiled(source: str, *, extended: bool, fold: bool = False) -> Expression:
    text = translated(source, extended=extended)
    # Of alternatives the longest counts, not the first.
    flags = (IGNORE_CASE if fold else 0) | (LEFTMOST_LONGEST if "|" in text else 0)
    try:
        return Expression(text, flags)
    except BadSource as error:
        known = (text for part, text in TEXTS.items() if part in str(error))
        raise BadExpression(next(known, str(error))) from None
