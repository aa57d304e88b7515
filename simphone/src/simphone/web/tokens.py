"""HTML as tags and text, in one pass over any input.

The standard library's parser takes time quadratic in the length of broken markup (20 kB of `<a b `
are seconds), and a hostile page may bring 2 MB of it. Here every step moves on and what never
ends is dropped with the rest of the page, as a browser does at the end of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

NAME = re.compile(r"[a-zA-Z][^\s/>]{0,64}")
ATTRIBUTE = re.compile(r"[\s/]*([^\s/>=][^\s/>=]*)\s*(=?)\s*")
UNQUOTED = re.compile(r"[^\s>]*")
GAP = re.compile(r"[\s/]*")
# Their content is letters, not markup, up to their own end tag.
RAW = frozenset(("script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"))
RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
ATTRIBUTES = 64


@dataclass(frozen=True)
class Token:
    kind: str  # text | start | end | raw
    name: str = ""  # of a tag, in lower case
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


def tokens(html: str) -> Iterator[Token]:
    place, end = 0, len(html)
    while place < end:
        tag = html.find("<", place)
        if tag < 0:
            tag = end
        if tag > place:
            yield Token("text", text=unescape(html[place:tag]))
        place = tag
        if place == end:
            return
        following = html[place + 1 : place + 2]
        if html.startswith("<!--", place):
            place = after(html, "-->", place + 4)
        elif following and following in "!?":
            place = after(html, ">", place + 2)
        elif following == "/":
            if name := NAME.match(html, place + 2):
                yield Token("end", name[0].lower())
            place = after(html, ">", place + 2)
        elif name := NAME.match(html, place + 1):
            attributes: dict[str, str] = {}
            place = read_attributes(html, name.end(), attributes)
            if place < 0:
                return  # the page ended inside a tag
            lower = name[0].lower()
            yield Token("start", lower, attributes=attributes)
            if lower in RAW:
                closing = RAW_ENDS[lower].search(html, place)
                inside = html[place : closing.start() if closing else end]
                yield Token(
                    "raw", lower, unescape(inside) if lower in ("title", "textarea") else inside
                )
                place = after(html, ">", closing.end()) if closing else end
                yield Token("end", lower)
        else:
            yield Token("text", text="<")
            place += 1


def after(html: str, mark: str, start: int) -> int:
    """Behind the next mark; the end of the page where there is none."""
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)


def read_attributes(html: str, place: int, found: dict[str, str]) -> int:
    """Fills `found`; returns where the tag has ended, -1 where it never does."""
    while True:
        gap = GAP.match(html, place)
        place = gap.end() if gap else place
        if place >= len(html):
            return -1
        if html[place] == ">":
            return place + 1
        if html[place] == "=":  # one without a name
            place += 1
            continue
        attribute = ATTRIBUTE.match(html, place)
        assert attribute is not None  # neither a gap nor `=` nor `>` is here
        place = attribute.end()
        value = ""
        if attribute[2]:
            quote = html[place : place + 1]
            if quote and quote in "\"'":
                closing = html.find(quote, place + 1)
                if closing < 0:
                    return -1
                value, place = html[place + 1 : closing], closing + 1
            else:
                bare = UNQUOTED.match(html, place)
                value, place = (bare[0], bare.end()) if bare else ("", place)
        if len(found) < ATTRIBUTES:
            found.setdefault(attribute[1].lower(), unescape(value))
