"""What the extras and the address of an intent say, whoever wrote them."""

from __future__ import annotations

MOST_DIGITS = 18  # what a 64-bit number holds for certain


def whole(value: object) -> int | None:
    text = str(value)
    digits = text.removeprefix("-")
    fits = digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS
    return int(text) if fits else None


def truth(value: object) -> bool:
    return str(value).lower() in ("1", "true")
