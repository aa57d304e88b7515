"""HTML to a document: what a person would see of a page, and what they could do with it.

Shown are words, links, lists, tables as rows, forms, and pictures as boxes with their words.
Scripts do not run, so what stands in <noscript> is shown. What style.py says of styles holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .address import BadAddress, join
from .build import Builder, Full, Inside
from .controls import pixels
from .document import Block, Document
from .form_reader import FORM_ENDS, FORM_STARTS, FormReader
from .style import Styles
from .tokens import Token, tokens

DEEPEST = 256
MOST_TOKENS = 150_000
VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
))  # fmt: skip
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hr", "html", "legend", "li", "main", "marquee", "nav", "ol", "p",
    "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "ul",
))  # fmt: skip
NEVER = frozenset((
    "template", "svg", "canvas", "audio", "video", "object", "math", "datalist",
))  # fmt: skip
INLINE_NAMED = frozenset((
    "a", "abbr", "span", "b", "strong", "i", "em", "code", "button", "label",
))  # fmt: skip
HEADINGS = {f"h{n}": n for n in range(1, 7)}
BOLD, CODE = frozenset(("b", "strong", "th", "dt")), frozenset(("code", "kbd", "samp", "tt"))
# A tag that ends elements left open before it: which, and where the search for them stops.
_LISTS, _TABLE = frozenset(("ul", "ol", "dl", "table")), frozenset(("table",))
CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset(("li",)), _LISTS),
    "dt": (frozenset(("dt", "dd")), _LISTS),
    "dd": (frozenset(("dt", "dd")), _LISTS),
    "tr": (frozenset(("tr", "td", "th")), _TABLE),
    "td": (frozenset(("td", "th")), _TABLE),
    "th": (frozenset(("td", "th")), _TABLE),
    "option": (frozenset(("option",)), frozenset(("select",))),
    "a": (frozenset(("a",)), frozenset(("table",))),
    "button": (frozenset(("button",)), frozenset(("form",))),
} | {
    name: (frozenset(("p",)), frozenset(("table", "button", "div", "li")))
    for name in BLOCKS - {"li", "dt", "dd", "html", "body"}
}


class Parser:
    def __init__(self, base: str) -> None:
        self.built = Builder(base)
        self.styles = Styles()
        self.stack = [Inside()]
        self.forms = FormReader(self.built)
        self.items: list[int] = []  # of each open list: the next number, 0 for bullets
        self.open = Counter[str]()  # how many elements of each name
        self.link_words = False  # whether the open link has shown anything

    @property
    def document(self) -> Document:
        return self.built.document

    def read(self, html: str) -> None:
        for number, token in enumerate(tokens(html)):
            if number == MOST_TOKENS:
                raise Full
            if token.kind == "text":
                self.text(token.text)
            elif token.kind == "start":
                self.start(token)
            elif token.kind == "end":
                self.end(token.name)
            else:
                self.raw(token)
        self.finish()

    def finish(self) -> None:
        for name in ("option", "select", "button", "label"):
            self.close(name)
        self.built.flush()

    # Words

    def text(self, words: str) -> None:
        inside = self.stack[-1]
        if inside.hidden:
            return
        if not self.forms.take(words):
            self.link_words = self.link_words or bool(words.strip())
            self.built.words(words, inside)

    def raw(self, token: Token) -> None:
        if token.name == "style":
            self.styles.learn(token.text)
        elif token.name == "title" and not self.document["title"]:
            self.document["title"] = " ".join(token.text.split())[:300]
        elif token.name == "textarea":
            self.forms.fill_area(token.text)

    # Tags

    def start(self, token: Token) -> None:
        name, attributes = token.name, token.attributes
        self.close_open(name)
        above = self.stack[-1]
        hidden = above.hidden or name in NEVER or self.styles.hides(name, attributes)
        hidden = hidden or (name == "dialog" and "open" not in attributes)
        inside = replace(above, name=name, hidden=hidden)
        if not hidden and name in BLOCKS:
            self.built.block_edge()
            self.built.anchor(attributes.get("id", ""))
        elif not hidden:
            self.built.anchor(
                attributes.get("id", "") or attributes.get("name", "") * (name == "a")
            )
        if name in INLINE_NAMED:
            inside = replace(
                inside, desc=(attributes.get("aria-label") or attributes.get("title") or "")[:300]
            )
        if name in HEADINGS:
            inside = replace(inside, kind="heading", level=HEADINGS[name], style="")
        elif name in BOLD:
            inside = replace(inside, style="b")
        elif name in CODE:
            inside = replace(inside, style="c")
        if name not in VOID and len(self.stack) < DEEPEST:
            self.stack.append(inside)
            self.open[name] += 1
        if deed := STARTS.get(name):
            deed(self, attributes, inside)
        elif form_deed := FORM_STARTS.get(name):
            form_deed(self.forms, attributes, inside)

    def end(self, name: str) -> None:
        if name == "p" and not self.open["p"]:
            self.built.block_edge()
            return
        self.close(name)

    def close_open(self, name: str) -> None:
        closes, stops = CLOSES.get(name, (frozenset(), frozenset()))
        if not any(self.open[other] for other in closes):
            return
        for inside in reversed(self.stack):
            if inside.name in closes:
                self.close(inside.name)
                return
            if inside.name in stops:
                return

    def close(self, name: str) -> None:
        """Ends the innermost element of this name, and what was left open in it."""
        if not self.open[name]:
            return
        while len(self.stack) > 1:
            inside = self.stack[-1]
            if not inside.hidden and inside.name in BLOCKS:
                self.built.block_edge()
            if deed := ENDS.get(inside.name):
                deed(self, inside)
            elif form_deed := FORM_ENDS.get(inside.name):
                form_deed(self.forms, inside)
            self.stack.pop()
            self.open[inside.name] -= 1
            if inside.name == name:
                return

    def give(self, inside: Inside, **change: Any) -> None:
        """The element just opened gives this to what is within it, unless it lies too deep."""
        if self.stack[-1] is inside:
            self.stack[-1] = replace(inside, **change)

    # Links, lists, tables, pictures

    def base(self, attributes: dict[str, str], inside: Inside) -> None:
        self.document["base"] = self.joined(attributes.get("href", "")) or self.document["base"]

    def joined(self, reference: str) -> str:
        try:
            return join(self.document["base"], reference)
        except BadAddress:
            return ""

    def link(self, attributes: dict[str, str], inside: Inside) -> None:
        self.link_words = False
        if "href" in attributes:
            self.give(inside, href=self.joined(attributes["href"]))

    def link_end(self, inside: Inside) -> None:
        if inside.href and inside.desc and not self.link_words and not inside.hidden:
            self.built.words(inside.desc, inside)

    def line_break(self, attributes: dict[str, str], inside: Inside) -> None:
        if not inside.hidden and not self.forms.take(" "):
            self.built.line_break()

    def rule(self, attributes: dict[str, str], inside: Inside) -> None:
        if not inside.hidden:
            self.built.thing(Block(kind="rule"))

    def table(self, attributes: dict[str, str], inside: Inside) -> None:
        if not inside.hidden:
            self.built.gap()

    def table_end(self, inside: Inside) -> None:
        if not inside.hidden:
            self.built.gap()

    def preformatted(self, attributes: dict[str, str], inside: Inside) -> None:
        self.table(attributes, inside)
        self.give(inside, pre=True, style="c")

    def quotation(self, attributes: dict[str, str], inside: Inside) -> None:
        self.give(inside, kind="quote", level=min(inside.level + 1, 6))

    def listing(self, attributes: dict[str, str], inside: Inside) -> None:
        start = attributes.get("start", "1")
        first = int(start) if start.isdecimal() and len(start) < 6 and start.isascii() else 1
        if self.stack[-1] is inside:
            self.items.append(first if inside.name == "ol" else 0)
            self.give(inside, kind="item", level=min(len(self.items), 6))

    def listing_end(self, inside: Inside) -> None:
        if self.items:
            self.items.pop()

    def item(self, attributes: dict[str, str], inside: Inside) -> None:
        number = self.items[-1] if self.items else 0
        if inside.hidden:
            return
        self.built.mark = f"{number}." if number else "•"
        if number:
            self.items[-1] += 1

    def item_end(self, inside: Inside) -> None:
        self.built.mark = ""

    def indented(self, attributes: dict[str, str], inside: Inside) -> None:
        self.give(inside, kind="item", level=1)

    def row(self, attributes: dict[str, str], inside: Inside) -> None:
        self.built.row()

    def row_end(self, inside: Inside) -> None:
        self.built.flush()

    def cell(self, attributes: dict[str, str], inside: Inside) -> None:
        if not inside.hidden:
            self.built.cell(header=inside.name == "th")

    def marquee(self, attributes: dict[str, str], inside: Inside) -> None:
        self.styles.endless = self.styles.endless or not inside.hidden

    def image(self, attributes: dict[str, str], inside: Inside) -> None:
        words = (
            attributes.get("alt") or attributes.get("aria-label") or attributes.get("title") or ""
        )
        words = " ".join(words.split())[:300]
        size = [pixels(attributes.get(side, "")) for side in ("width", "height")]
        if inside.hidden or 0 < max(size) <= 2:  # a picture nobody is meant to see
            return
        if self.forms.take(words):
            return
        self.link_words = True
        self.built.thing(Block(kind="image", label=words, size=size, href=inside.href))


STARTS: dict[str, Callable[[Parser, dict[str, str], Inside], None]] = {
    "a": Parser.link,
    "base": Parser.base,
    "blockquote": Parser.quotation,
    "br": Parser.line_break,
    "dd": Parser.indented,
    "hr": Parser.rule,
    "img": Parser.image,
    "li": Parser.item,
    "marquee": Parser.marquee,
    "ol": Parser.listing,
    "pre": Parser.preformatted,
    "table": Parser.table,
    "td": Parser.cell,
    "th": Parser.cell,
    "tr": Parser.row,
    "ul": Parser.listing,
}
ENDS: dict[str, Callable[[Parser, Inside], None]] = {
    "a": Parser.link_end,
    "li": Parser.item_end,
    "ol": Parser.listing_end,
    "pre": Parser.table_end,
    "table": Parser.table_end,
    "tr": Parser.row_end,
    "ul": Parser.listing_end,
}


def parse_html(html: str, url: str) -> Document:
    """Any markup gives a document; one too large gives its beginning."""
    parser = Parser(url)
    try:
        parser.read(html)
    except Full:
        parser.document["cut"] = True
    parser.forms.name_controls()
    parser.document["animating"] = parser.styles.endless
    return parser.document
