"""Fonts and how wide text is in them. Pillow is loaded only when a screen is first laid out."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


def package_file(package: str, name: str) -> Path:
    """A file of an installed font package, found without running the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the font package {package} is not installed; run `make` again")
    return Path(spec.submodule_search_locations[0]) / name


@lru_cache(maxsize=24)
def face(size: int, weight: str = "Regular") -> FreeTypeFont:
    from PIL import ImageFont

    if weight == "Icons":
        path = package_file("fonticon_mdi7", "fonts/materialdesignicons-webfont.ttf")
    else:
        path = package_file("font_roboto", f"files/Roboto-{weight}.ttf")
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def width(text: str, size: int, weight: str = "Regular") -> int:
    return int(face(size, weight).getlength(text)) + 1


def shorten(text: str, size: int, room: int, weight: str = "Regular") -> str:
    """The text, cut with an ellipsis where it would not fit."""
    if fits(text, size, room, weight):
        return text
    low, high = 0, min(len(text), most_letters(size, room))
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[:middle] + "…", size, room, weight):
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…"


def most_letters(size: int, room: int) -> int:
    """More than a line can hold: no letter is narrower than an eighth of its size."""
    return room * 8 // size + 1


def fits(text: str, size: int, room: int, weight: str) -> bool:
    """Whether it can stand on one line; a line is measured, a book is not."""
    return len(text) <= most_letters(size, room) and width(text, size, weight) <= room


def fitting(word: str, size: int, room: int, weight: str) -> int:
    """How many letters of a long word fit; at least one."""
    low, high = 1, min(len(word), most_letters(size, room))
    while low < high:
        middle = (low + high + 1) // 2
        if fits(word[:middle], size, room, weight):
            low = middle
        else:
            high = middle - 1
    return low


def broken(word: str, size: int, room: int, weight: str) -> list[str]:
    """A word in pieces that fit; one that fits is one piece."""
    pieces = []
    while len(word) > 1 and not fits(word, size, room, weight):
        cut = fitting(word, size, room, weight)
        pieces.append(word[:cut])
        word = word[cut:]
    return [*pieces, word]


def filled(paragraph: str, size: int, room: int, weight: str) -> list[str]:
    """One paragraph's lines."""
    lines = [""]
    for word in paragraph.split(" "):
        grown = f"{lines[-1]} {word}" if lines[-1] else word
        if fits(grown, size, room, weight):
            lines[-1] = grown
            continue
        pieces = broken(word, size, room, weight)
        lines = lines[: -1 if not lines[-1] else None] + pieces
    return lines


@lru_cache(maxsize=512)
def wrap(
    text: str, size: int, room: int, weight: str = "Regular", most: int = 0
) -> tuple[str, ...]:
    """Lines that fit the room; past `most` lines (0: any number) the last one is cut."""
    if most:
        text = text[: most * most_letters(size, room) + 1]
    lines: list[str] = []
    for paragraph in text.replace("\t", "    ").split("\n"):
        lines += filled(paragraph, size, room, weight)
        if most and len(lines) > most:
            return (*lines[: most - 1], shorten(lines[most - 1] + " …", size, room, weight))
    return tuple(lines)
