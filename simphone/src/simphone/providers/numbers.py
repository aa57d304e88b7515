"""When two spellings are one telephone number."""

from __future__ import annotations

MIN_MATCH = 7
MAX_PREFIX = 3  # of a country code or a trunk zero
SEPARATORS = frozenset(" -().\t\u00a0")


def normalized(number: str) -> str:
    """Digits with a leading plus; a sender that is a word stays a word, in lower case."""
    bare = "".join(char for char in number if char not in SEPARATORS)
    digits = bare.removeprefix("+")
    return bare if digits.isdigit() else number.strip().lower()


def same(one: str, other: str) -> bool:
    """As Android compares loosely: a country code or a trunk zero may be missing."""
    a, b = normalized(one), normalized(other)
    if a == b:
        return True
    a, b = a.removeprefix("+"), b.removeprefix("+")
    if not (a.isdigit() and b.isdigit()):
        return False
    short, long = sorted((a, b), key=len)
    short = short.lstrip("0") if not long.endswith(short) else short
    extra = len(long) - len(short)
    return len(short) >= MIN_MATCH and long.endswith(short) and extra <= MAX_PREFIX
