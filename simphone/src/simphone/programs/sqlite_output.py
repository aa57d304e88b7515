"""How sqlite3 prints rows: one function a mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = Sequence[Any]
LINE_WIDTH = 80


@dataclass
class Format:
    mode: str = "list"
    header: bool = False
    separator: str = "|"
    newline: str = "\n"
    null: str = ""


def real(value: float) -> str:
    """SQLite's %!.15g."""
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "-Inf"
    text = f"{value:.15g}"
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def plain(value: Any, null: str = "") -> str:
    if value is None:
        return null
    if isinstance(value, float):
        return real(value)
    if isinstance(value, bytes):
        # Printed as C text: up to the first zero.
        return value.split(b"\0")[0].decode("utf-8", "surrogateescape")
    return str(value).split("\0")[0]


def literal(value: Any) -> str:
    """As SQL would spell it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return plain(value)


def _list(names: Row, rows: Sequence[Row], form: Format) -> str:
    lines = [names, *rows] if form.header else rows
    return "".join(
        form.separator.join(plain(value, form.null) for value in row) + form.newline
        for row in lines
    )


def _csv(names: Row, rows: Sequence[Row], form: Format) -> str:
    def field(value: Any) -> str:
        text = plain(value, form.null)
        if value is None:
            return text
        special = any(char <= " " or char in "\"'" or char >= "\x7f" for char in text)
        if not text or special or form.separator in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [names, *rows] if form.header else rows
    return "".join(form.separator.join(map(field, row)) + form.newline for row in lines)


def _json(names: Row, rows: Sequence[Row], form: Format) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, float | bytes):
            return real(value) if isinstance(value, float) else json.dumps(plain(value))
        return json.dumps(value, ensure_ascii=False)

    objects = (
        "{" + ",".join(f"{shown(n)}:{shown(v)}" for n, v in zip(names, row, strict=True)) + "}"
        for row in rows
    )
    return "[" + ",\n".join(objects) + "]\n"


def _line(names: Row, rows: Sequence[Row], form: Format) -> str:
    width = max(5, *(len(name) for name in names))
    return "\n".join(
        "".join(
            f"{name:>{width}} = {plain(value, form.null)}\n"
            for name, value in zip(names, row, strict=True)
        )
        for row in rows
    )


def _column(names: Row, rows: Sequence[Row], form: Format) -> str:
    table = [[plain(value, form.null) for value in row] for row in rows]
    widths = [max(len(row[at]) for row in [names, *table]) for at in range(len(names))]
    head = [list(names), ["-" * width for width in widths]]
    return "".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + "\n"
        for row in head + table
    )


def _quote(names: Row, rows: Sequence[Row], form: Format) -> str:
    lines = [names, *rows] if form.header else rows
    return "".join(",".join(map(literal, row)) + "\n" for row in lines)


MODES: dict[str, Callable[[Row, Sequence[Row], Format], str]] = {
    "list": _list,
    "tabs": _list,
    "csv": _csv,
    "json": _json,
    "line": _line,
    "column": _column,
    "quote": _quote,
}


def rows_text(names: Row, rows: Sequence[Row], form: Format) -> str:
    """A result with its names; an empty one shows nothing in any mode."""
    return MODES[form.mode](names, rows, form) if rows else ""


def side_by_side(words: Sequence[str]) -> str:
    """Words in columns, downwards, as `.tables` shows them."""
    if not words:
        return ""
    width = max(map(len, words))
    rows = -(-len(words) // max(1, LINE_WIDTH // (width + 2)))
    return "".join(
        "  ".join(word.ljust(width) for word in words[row::rows]) + "\n" for row in range(rows)
    )
