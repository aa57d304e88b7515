"""How do words of several styles, some of them links, fill lines of a given width?

A link lies on one line, or has whole lines to itself: so its box never covers another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ui import theme
from ..ui.fonts import fitting, most_letters, width
from ..ui.node import Action, Fill, Label, Node, Rect
from ..ui.widgets import box
from .document import Run

WEIGHTS = {"": "Regular", "b": "Bold", "c": "Regular"}


@dataclass(frozen=True)
class Look:
    size: int
    weight: str = ""  # for all words; empty for each run's own
    colour: str = theme.TEXT
    leading: float = 1.45

    @property
    def line(self) -> int:
        return round(self.size * self.leading)

    def weight_of(self, run: Run) -> str:
        return self.weight or WEIGHTS.get(run[1], "Regular")


@dataclass
class Piece:
    """Words of one run on one line."""

    run: int
    line: int
    x: int
    wide: int
    words: str


class Flow:
    """The runs, broken into lines."""

    def __init__(self, runs: Sequence[Run], room: int, look: Look) -> None:
        self.runs, self.room, self.look = runs, max(1, room), look
        self.pieces: list[Piece] = []
        self._line = self._x = 0
        self._fresh = True  # nothing stands on this line yet
        for number, run in enumerate(runs):
            weight = look.weight_of(run)
            if run[2]:
                self._link(number, run[0], weight)
            else:
                self._words(number, run[0], weight)

    @property
    def lines(self) -> int:
        return self._line + (0 if self._fresh and self._line else 1)

    @property
    def height(self) -> int:
        return self.lines * self.look.line

    def _new_line(self) -> None:
        self._line += 1
        self._x, self._fresh = 0, True

    def _put(self, run: int, words: str, wide: int) -> None:
        last = self.pieces[-1] if self.pieces else None
        if last and (last.run, last.line) == (run, self._line):
            last.words += words
            last.wide += wide
        else:
            self.pieces.append(Piece(run, self._line, self._x, wide, words))
        self._x += wide
        self._fresh = False

    def _words(self, run: int, text: str, weight: str) -> None:
        for count, line in enumerate(text.split("\n")):
            if count:
                self._new_line()
            for word in split_words(line):
                self._word(run, word, weight)

    def _wide(self, words: str, weight: str) -> int:
        """How wide; of what cannot fit a line only that it does not."""
        if len(words) > most_letters(self.look.size, self.room):
            return self.room + 2
        return width(words, self.look.size, weight)

    def _word(self, run: int, word: str, weight: str) -> None:
        size = self.look.size
        wide = self._wide(word, weight) - 1
        # A comma stays with the word before it, in the margin if need be.
        spare = size if len(word) == 1 and word in ",.;:!?)" else 0
        if self._x + wide > self.room + spare and not self._fresh:
            self._new_line()
            word = word.lstrip(" ")
            wide = self._wide(word, weight) - 1
        while wide > self.room and len(word) > 1:
            cut = fitting(word, size, self.room, weight)
            self._put(run, word[:cut], width(word[:cut], size, weight))
            self._new_line()
            word = word[cut:]
            wide = self._wide(word, weight) - 1
        if word:
            self._put(run, word, wide)

    def _link(self, run: int, text: str, weight: str) -> None:
        text = text.replace("\n", " ")
        bare = text.lstrip(" ")
        wide = self._wide(bare, weight)
        blank = width(" ", self.look.size, weight) if bare != text and not self._fresh else 0
        if self._x + blank + wide <= self.room:
            self._x += blank
            self._put(run, bare, wide)
            return
        if not self._fresh:
            self._new_line()
        if wide <= self.room:
            self._put(run, bare, wide)
            return
        self._words(run, bare, weight)
        self._new_line()


def split_words(line: str) -> Iterator[str]:
    """Words, each with the blanks before it."""
    start, place = 0, 0
    while place < len(line):
        while place < len(line) and line[place] == " ":
            place += 1
        end = line.find(" ", place)
        place = len(line) if end < 0 else end
        yield line[start:place]
        start = place


def placed(flow: Flow, x: int, y: int, links: dict[int, Action]) -> tuple[Node, ...]:
    """The flow's nodes: one for each link, one for all words between two links."""
    nodes: list[Node] = []
    group: list[Piece] = []
    for piece in flow.pieces:
        link = bool(flow.runs[piece.run][2])
        fresh = group and (bool(flow.runs[group[0].run][2]) != link
                           or (link and group[0].run != piece.run))  # fmt: skip
        if fresh:
            nodes.append(_node(flow, group, x, y, links))
            group = []
        group.append(piece)
    if group:
        nodes.append(_node(flow, group, x, y, links))
    return tuple(nodes)


def _node(flow: Flow, group: list[Piece], x: int, y: int, links: dict[int, Action]) -> Node:
    look, run = flow.look, flow.runs[group[0].run]
    is_link = bool(run[2])
    drawn: list[Node] = []
    for piece in group:
        top = y + piece.line * look.line
        frame = Rect(x + piece.x, top, x + piece.x + piece.wide, top + look.line)
        weight = look.weight_of(flow.runs[piece.run])
        ink = theme.LINK if is_link else look.colour
        drawn.append(box(frame, Label((piece.words,), look.size, ink, weight)))
        if is_link:
            under = top + look.line // 2 + round(look.size * 0.48)
            drawn.append(box(Rect(frame.left, under, frame.right, under + 3), Fill(theme.LINK)))
    words = words_of(flow, group)
    frame = Rect(min(n.frame.left for n in drawn), min(n.frame.top for n in drawn),
                 max(n.frame.right for n in drawn), max(n.frame.bottom for n in drawn))  # fmt: skip
    if is_link:
        return Node(frame, "android.view.View", words, desc=run[3], tap=links.get(group[0].run),
                    children=tuple(drawn))  # fmt: skip
    return Node(frame, "android.widget.TextView", words, desc=run[3], children=tuple(drawn))


def words_of(flow: Flow, group: list[Piece]) -> str:
    """What the group says, whole, however it was broken."""
    runs = dict.fromkeys(piece.run for piece in group)
    return "".join(flow.runs[run][0] for run in runs).strip(" \n")
