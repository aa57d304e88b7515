"""What a content URI names: an authority, a path, and options."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

SCHEME = "content://"


@dataclass(frozen=True)
class Uri:
    text: str
    authority: str
    path: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)

    def flag(self, name: str) -> bool:
        return self.options.get(name, "").lower() in ("1", "true")


def parse(text: str) -> Uri:
    """Any text is a URI to Android; what is not one of ours has an authority nobody serves."""
    if not text.startswith(SCHEME):
        return Uri(text, "null", ())
    rest, _, query = text.removeprefix(SCHEME).partition("?")
    authority, _, path = rest.partition("/")
    parts = tuple(unquote(part) for part in path.split("/") if part)
    return Uri(text, authority, parts, dict(parse_qsl(query, keep_blank_values=True)))
