"""Words and things in the order of a page, gathered into a document's blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .document import (
    LONGEST_VALUE,
    MOST_BLOCKS,
    MOST_CONTROLS,
    MOST_LETTERS,
    Block,
    Control,
    Run,
    empty,
)

BLANKS = re.compile(r"[ \t\n\r\f]+")
MOST_CELLS = 8
MOST_ANCHORS = 300


class Full(Exception):
    """The document holds as much as it may."""


@dataclass(frozen=True)
class Inside:
    """What an element gives to all within it."""

    name: str = ""
    hidden: bool = False
    kind: str = "text"  # of the blocks that its words make
    level: int = 0
    style: str = ""
    pre: bool = False
    href: str = ""
    desc: str = ""


class Builder:
    def __init__(self, base: str) -> None:
        self.document = empty(base)
        self.mark = ""  # of the list item that has not shown any words yet
        self._runs: list[Run] = []
        self._place = Inside()  # where the runs stand
        self._cells: list[list[Run]] | None = None
        self._header = False
        self._letters = 0
        self._unnamed: Block | None = None  # a check box that is named by what follows it

    def words(self, text: str, place: Inside) -> None:
        target = self._cells[-1] if self._cells else self._runs
        if not place.pre:
            text = BLANKS.sub(" ", text)
            if not target or target[-1][0].endswith((" ", "\n")):
                text = text.lstrip(" ")
        if not text:
            return
        self._letters += len(text) + len(place.href)
        over = self._letters - MOST_LETTERS
        if over > 0:
            text = text[: max(0, len(text) - over)]
        if not target:
            self._place = place
        kind = [place.style, place.href, place.desc]
        if target and target[-1][1:] == kind:
            target[-1][0] += text
        else:
            target.append([text, *kind])
        if over > 0:
            raise Full

    def line_break(self, *, hard: bool = True) -> None:
        """A new line in the same block; a soft one only where the line has begun."""
        target = self._cells[-1] if self._cells else self._runs
        if target and (hard or not target[-1][0].endswith("\n")):
            target[-1][0] = target[-1][0].rstrip(" ") + "\n"

    def block_edge(self) -> None:
        """The border of a block element: ends the block, in a table's cell the line."""
        if self._cells:
            self.line_break(hard=False)
        else:
            self.flush()

    def flush(self) -> None:
        """What was gathered becomes a block."""
        cells, self._cells = self._cells, None
        if cells is not None:
            self._flush_row([trimmed(cell) for cell in cells])
        runs, self._runs = trimmed(self._runs), []
        if not runs:
            return
        place, unnamed = self._place, self._unnamed
        self._unnamed = None
        if unnamed is not None:
            unnamed["label"] = "".join(run[0] for run in runs).replace("\n", " ").strip()
            runs = [run for run in runs if run[2]]  # its links must still be tapped
            if not runs:
                return
        if place.pre:
            self._flush_lines(runs)
            return
        block = Block(kind=place.kind, runs=runs, level=place.level)
        if self.mark:
            block["mark"], self.mark = self.mark, ""
        self._append(block)

    def _flush_lines(self, runs: list[Run]) -> None:
        line: list[Run] = []
        for text, *kind in runs:
            first, *others = text.split("\n")
            line.append([first, *kind])
            for other in others:
                self._append(Block(kind="pre", runs=line))
                line = [[other, *kind]]
        self._append(Block(kind="pre", runs=line))

    def _flush_row(self, cells: list[list[Run]]) -> None:
        if not any(cells):
            return
        if len(cells) == 1:
            self._append(Block(kind="text", runs=cells[0], level=0))
        else:
            self._append(Block(kind="row", cells=cells, header=self._header))

    def row(self) -> None:
        self.flush()
        self._header = True

    def cell(self, *, header: bool) -> None:
        if self._cells is None:
            self.flush()
            self._cells = []
            self._header = header
        self._header = self._header and header
        if len(self._cells) < MOST_CELLS:
            self._cells.append([])

    def thing(self, block: Block) -> None:
        """Something that is not words."""
        self.flush()
        self._unnamed = None
        self._append(block)

    def control(self, block: Block, control: Control) -> None:
        controls = self.document["controls"]
        if len(controls) >= MOST_CONTROLS:
            raise Full
        self._letters += len(control["value"]) + sum(len(v) + len(w) for v, w in control["options"])
        control["value"] = control["value"][:LONGEST_VALUE]
        block["control"] = len(controls)
        controls.append(control)
        self.thing(block)
        if block["kind"] == "check" and not block.get("label"):
            self._unnamed = block

    def gap(self) -> None:
        """Room between a table, or a program text, and what is around it."""
        self.flush()
        blocks = self.document["blocks"]
        if blocks and blocks[-1]["kind"] != "gap":
            self._append(Block(kind="gap"))

    def take_back(self) -> str:
        """The words gathered since the last block, for whoever they name."""
        target = self._cells[-1] if self._cells else self._runs
        words = "".join(run[0] for run in target).strip()
        target.clear()
        return words

    def anchor(self, name: str) -> None:
        anchors = self.document["anchors"]
        if name and len(name) <= 100 and len(anchors) < MOST_ANCHORS:
            anchors.setdefault(name, len(self.document["blocks"]))

    def _append(self, block: Block) -> None:
        if len(self.document["blocks"]) >= MOST_BLOCKS or self._letters > 2 * MOST_LETTERS:
            raise Full
        self.document["blocks"].append(block)


def trimmed(runs: list[Run]) -> list[Run]:
    """Without blanks at the end; nothing where there were only blanks."""
    while runs and not runs[-1][0].rstrip(" \n"):
        runs.pop()
    if runs:
        runs[-1][0] = runs[-1][0].rstrip(" \n")
    return runs
