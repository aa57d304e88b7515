"""What a file is to a person: its name made safe to look at, its kind, its size in words."""

from __future__ import annotations

import unicodedata

from ..providers.media import mime_of

TEXTS = frozenset(("txt", "md", "json", "csv", "log", "html", "htm", "xml", "ini", "conf", "vcf",
                   "ics", "yaml", "yml", "py", "sh"))  # fmt: skip
APK = "application/vnd.android.package-archive"
ICONS = {
    "image": "file_image_outline",
    "audio": "file_music_outline",
    "video": "file_video_outline",
    "text": "file_document_outline",
}
# Letters that turn the direction of others: with them "gpj.apk" reads "kpa.jpg".
TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(name: str) -> str:
    """A name of any bytes as one readable line."""
    return "".join("\ufffd" if unreadable(character) else character for character in name)


def unreadable(character: str) -> bool:
    """Controls, ends of lines, halves of letters, and what turns others around."""
    return character in TURNING or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def extension(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def kind(name: str) -> str:
    """text | image | apk | other"""
    if extension(name) in TEXTS:
        return "text"
    if mime_of(name) == APK:
        return "apk"
    return "image" if mime_of(name).startswith("image/") else "other"


def icon(name: str) -> str:
    if kind(name) == "apk":
        return "android"
    if kind(name) == "text":
        return "file_document_outline"
    return ICONS.get(mime_of(name).partition("/")[0], "file_outline")


def size(count: int) -> str:
    """As Android's Files has it: powers of a thousand."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return (
        f"{count} B"
        if unit == "B"
        else f"{value:.1f} {unit}"
        if value < 10
        else f"{value:.0f} {unit}"
    )
