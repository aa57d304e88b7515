"""What a page is once it is read: a list of blocks, plain JSON, that a snapshot carries.

A page of any size becomes a document of bounded size: the rest is left out, and `cut` says so.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

MOST_BLOCKS = 2000
MOST_LETTERS = 120_000
MOST_CONTROLS = 300
MOST_OPTIONS = 200
LONGEST_VALUE = 4000

# text, style ("" | "b" | "c": bold, code), link's address or "", what a screen reader says or ""
Run = list[str]


class Block(TypedDict):
    # text | heading | item | quote | pre | line | row | gap | rule | image
    # | field | check | select | button
    kind: str
    runs: NotRequired[list[Run]]
    level: NotRequired[int]  # of a heading; how deep a list or quotation lies
    mark: NotRequired[str]  # before a list's item
    cells: NotRequired[list[list[Run]]]
    header: NotRequired[bool]  # of a row
    label: NotRequired[str]  # an image's alt text; a control's words
    href: NotRequired[str]  # of an image that is a link
    size: NotRequired[list[int]]  # of an image, CSS pixels; 0 where unsaid
    control: NotRequired[int]  # which control this is; its state is the field "w<n>"


class Control(TypedDict):
    type: str  # text | password | checkbox | radio | select | submit | button | reset
    form: int  # -1 outside of every form
    name: str
    value: str  # at first; of a check box what is sent when it is on
    on: bool  # a check box at first
    hint: str
    desc: str
    lines: int  # of a text area
    options: list[list[str]]  # value, words
    enabled: bool


class Form(TypedDict):
    action: str
    method: str  # GET | POST
    hidden: list[list[str]]  # name, value


class Document(TypedDict):
    title: str
    base: str  # what its links are seen from
    blocks: list[Block]
    controls: list[Control]
    forms: list[Form]
    anchors: dict[str, int]  # a block by its id
    animating: bool
    cut: bool


def empty(base: str, title: str = "") -> Document:
    return Document(
        title=title, base=base, blocks=[], controls=[], forms=[], anchors={}, animating=False,
        cut=False,
    )  # fmt: skip


def of_text(base: str, title: str, words: str) -> Document:
    """Words as they are, a block a line."""
    document = empty(base, title)
    document["cut"] = len(words) > MOST_LETTERS
    lines = words[:MOST_LETTERS].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    document["cut"] = document["cut"] or len(lines) > MOST_BLOCKS
    document["blocks"] = [
        Block(kind="line", runs=[[line.replace("\t", "    "), "c", "", ""]])
        for line in lines[:MOST_BLOCKS]
    ]
    return document


def of_image(base: str, title: str, label: str) -> Document:
    document = empty(base, title)
    document["blocks"] = [Block(kind="image", label=label, size=[0, 0])]
    return document
