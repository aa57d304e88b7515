"""Does a text match a shell pattern? `* ? [..]`, where quoted letters stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ..expression import ANY_CHARACTER, Expression

# A piece of text, and whether quotes took the meaning from its wildcards.
Segment = tuple[str, bool]

MAGIC = re.compile(r"[*?\[]")
CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
    "cntrl": r"\x00-\x1f\x7f",
}


def magic(segments: Iterable[Segment]) -> bool:
    return any(not quoted and MAGIC.search(text) for text, quoted in segments)


def bracket(text: str, at: int, negations: str = "!^") -> tuple[str, int] | None:
    """The regular expression of the bracket that opens at `at`, and where it ends."""
    i = at + 1
    negated = text[i : i + 1] != "" and text[i] in negations
    i += negated
    inside: list[str] = []
    first = i
    while i < len(text) and (text[i] != "]" or i == first):
        named = re.compile(r"\[:(\w+):\]").match(text, i)
        if named is not None and named.group(1) in CLASSES:
            inside.append(CLASSES[named.group(1)])
            i = named.end()
            continue
        if text[i + 1 : i + 2] == "-" and text[i + 2 : i + 3] not in ("]", ""):
            low, high = text[i], text[i + 2]
            if low <= high:
                inside.append(f"{re.escape(low)}-{re.escape(high)}")
            i += 3
            continue
        inside.append(re.escape(text[i]))
        i += 1
    if i >= len(text):
        return None
    if not inside:
        return ("." if negated else r"(?!)"), i + 1
    return f"[{'^' if negated else ''}{''.join(inside)}]", i + 1


def _source(segments: Iterable[Segment], *, shortest: bool) -> str:
    pieces: list[str] = []
    for text, quoted in segments:
        if quoted:
            pieces.append(re.escape(text))
            continue
        i = 0
        while i < len(text):
            char = text[i]
            if char == "*":
                pieces.append(".*?" if shortest else ".*")
                while text[i + 1 : i + 2] == "*":
                    i += 1
            elif char == "?":
                pieces.append(".")
            elif char == "[" and (found := bracket(text, i)) is not None:
                pieces.append(found[0])
                i = found[1]
                continue
            else:
                pieces.append(re.escape(char))
            i += 1
    return "".join(pieces)


@lru_cache(maxsize=256)
def compiled(segments: tuple[Segment, ...], *, shortest: bool = False) -> Expression:
    return Expression(_source(segments, shortest=shortest), ANY_CHARACTER)


def matches(text: str, segments: Iterable[Segment]) -> bool:
    return compiled(tuple(segments)).fullmatch(text) is not None


def trim(value: str, segments: Iterable[Segment], operator: str) -> str:
    """`${value#pattern}` and its three siblings."""
    fixed = tuple(segments)
    if operator in ("#", "##"):
        found = compiled(fixed, shortest=operator == "#").match(value)
        return value[found.end() :] if found else value
    # The engine finds the leftmost start by itself; the rightmost by a greedy run before it.
    source = compiled(fixed).pattern
    lead = "(.*)" if operator == "%" else "()"
    ending = Expression(f"{lead}(?:{source})\\Z", ANY_CHARACTER)
    found = ending.match(value) if operator == "%" else ending.search(value)
    return value[: found.end(1)] if found else value
