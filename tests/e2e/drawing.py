"""Draws what the panels of a dashboard showed, on the dashboard's own grid."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from tests.e2e.boards import Answers, Panel, Shown, View, panels
from tests.e2e.wording import shown, table, widths

CELL_W, CELL_H, GAP = 54, 30, 6  # pixels of a cell of Grafana's grid, and between panels
LEGEND_W, ROW_H, NOTCH = 226, 17, 4
BACK, PANEL, INK, FAINT, LINE = "#111217", "#1f2127", "#d8d9da", "#8e9299", "#34373f"
NAMED = {
    "dark-red": "#c4162a", "red": "#f2495c", "orange": "#ff9830", "yellow": "#fade2a",
    "green": "#73bf69", "blue": "#5794f2", "purple": "#b877d9", "text": INK,
}  # fmt: skip
PALETTE = ("#8ab8ff", "#ffcb7d", "#96d98d", "#ff7383", "#ca95e5", "#6ed0e0", "#e0b400", "#fff899")
PLAIN = [ImageFont.load_default(size) for size in (11, 12, 13, 26)]
SMALL, TEXT, TITLE, NUMBER = PLAIN
ROWS_OF_LEGEND = 11
COLOURS = 256  # of the file, which is smaller for it


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float


def draw(board: str, view: View, answers: Answers, path: Path) -> None:
    """Writes a PNG."""
    found = panels(board)
    height = max(each.json["gridPos"]["y"] + each.json["gridPos"]["h"] for each in found)
    image = Image.new("RGB", (24 * CELL_W + GAP, height * CELL_H + GAP), BACK)
    for panel in found:
        at = panel.json["gridPos"]
        box = Box(
            at["x"] * CELL_W + GAP, at["y"] * CELL_H + GAP,
            (at["x"] + at["w"]) * CELL_W, (at["y"] + at["h"]) * CELL_H,
        )  # fmt: skip
        Drawn(ImageDraw.Draw(image), panel, view, answers.get(panel.title, ()), box).draw()
    small = image.quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


@dataclass(frozen=True)
class Scale:
    """How high a value stands on an axis from 0 to its top."""

    top: float
    linear: float = 0.0  # below this a logarithmic axis is linear; 0: all of it is

    @classmethod
    def of(cls, distribution: Mapping[str, Any], top: float) -> Scale:
        return cls(top, distribution.get("linearThreshold", 0.0))

    def height(self, value: float) -> float:
        """From 0 to 1."""
        value = min(value, self.top)
        if not self.linear:
            return value / self.top
        return math.asinh(value / self.linear) / math.asinh(self.top / self.linear)

    @property
    def notches(self) -> list[float]:
        if not self.linear:
            return [self.top * part / NOTCH for part in range(NOTCH + 1)]
        tens = round(math.log10(self.top / self.linear))
        return [0.0, *(self.linear * 10**power for power in range(tens + 1))]


@dataclass(frozen=True)
class Drawn:
    """One panel of the picture."""

    pen: ImageDraw.ImageDraw
    panel: Panel
    view: View
    answers: Sequence[Sequence[Shown]]
    box: Box

    def draw(self) -> None:
        box = self.box
        if self.panel.kind == "row":
            self.pen.text((box.left, box.top + 4), self.panel.title, INK, TITLE)
            return
        self.pen.rectangle((box.left, box.top, box.right, box.bottom), PANEL, LINE)
        title = shortened(self.panel.title, box.right - box.left - 16, TITLE)
        self.pen.text((box.left + 8, box.top + 6), title, INK, TITLE)
        body = Box(box.left + 10, box.top + 28, box.right - 10, box.bottom - 8)
        {
            "stat": self._stat, "timeseries": self._graph, "bargauge": self._levels,
            "table": self._table,
        }[self.panel.kind](body)  # fmt: skip

    @property
    def series(self) -> list[Shown]:
        return [each for answer in self.answers for each in answer]

    def _stat(self, box: Box) -> None:
        value = self.series[0].last
        text, colour = shown(value, self.panel.unit), INK
        for mapping in self.panel.json["fieldConfig"]["defaults"].get("mappings", ()):
            text = mapping["options"].get(f"{value:g}", {}).get("text", text)
        for step in self.panel.json["fieldConfig"]["defaults"]["thresholds"]["steps"]:
            if step["value"] is None or value >= step["value"]:
                colour = NAMED[step["color"]]
        middle = ((box.left + box.right) / 2, (box.top + box.bottom) / 2)
        self.pen.text(middle, text, colour, NUMBER, anchor="mm")

    def _graph(self, box: Box) -> None:
        options = self.panel.json["fieldConfig"]["defaults"]["custom"]
        stacked = options.get("stacking", {}).get("mode") == "normal"
        as_bars = options["drawStyle"] == "bars"
        plot = Box(box.left + 56, box.top + 4, box.right - LEGEND_W, box.bottom - 20)
        if not self.series:
            middle = ((box.left + box.right) / 2, (box.top + box.bottom) / 2)
            nothing = self.panel.json["fieldConfig"]["defaults"]["noValue"]
            self.pen.text(middle, nothing, FAINT, TITLE, anchor="mm")
            return
        stacks: dict[float, float] = {}
        for each in self.series:
            for moment, value in each.points:
                stacks[moment] = (stacks.get(moment, 0) if stacked else 0) + value
        tallest = max(
            stacks.values() if stacked else (v for each in self.series for _, v in each.points)
        )
        top = self.panel.json["fieldConfig"]["defaults"].get("max") or rounded_up(tallest)
        scale = Scale.of(options.get("scaleDistribution", {}), top)
        self._axes(plot, scale)

        def x(moment: float) -> float:
            share = (moment - self.view.start) / (self.view.end - self.view.start)
            return plot.left + share * (plot.right - plot.left)

        def y(value: float) -> float:
            return plot.bottom - scale.height(value) * (plot.bottom - plot.top)

        below: dict[float, float] = {}
        width = max(1.0, (plot.right - plot.left) * self.view.step
                    / (self.view.end - self.view.start) - 1)  # fmt: skip
        for each in self.series:
            colour = self._colour(each.name)
            for run in unbroken(each.points, self.view.step):
                if not stacked:
                    line = [(x(moment), y(value)) for moment, value in run]
                    self.pen.line(line if len(line) > 1 else line * 2, colour, 2)
                    continue
                lower = [(x(moment), y(below.get(moment, 0.0))) for moment, _ in run]
                for moment, value in run:
                    below[moment] = below.get(moment, 0.0) + value
                upper = [(x(moment), y(below[moment])) for moment, _ in run]
                if as_bars:
                    for (right, bottom), (_, height) in zip(lower, upper, strict=True):
                        if height < bottom:
                            left = max(plot.left, right - width)
                            self.pen.rectangle((left, height, max(left, right), bottom), colour)
                elif len(run) > 1:
                    self.pen.polygon([*upper, *reversed(lower)], faded(colour))
                    self.pen.line(upper, colour, 1)
        self._legend(Box(plot.right + 14, box.top, box.right, box.bottom))

    def _axes(self, plot: Box, scale: Scale) -> None:
        for value in scale.notches:
            height = plot.bottom - scale.height(value) * (plot.bottom - plot.top)
            self.pen.line((plot.left, height, plot.right, height), LINE)
            text = shown(value, self.panel.unit)
            self.pen.text((plot.left - 6, height), text, FAINT, SMALL, anchor="rm")
        span = self.view.end - self.view.start
        every = next(each for each in (10, 20, 30, 60, 120, 300, 900) if span / each <= 7)
        for second in range(0, int(span) + 1, every):
            across = plot.left + second / span * (plot.right - plot.left)
            clock = f"{second // 60}:{second % 60:02}"
            self.pen.text((across, plot.bottom + 4), clock, FAINT, SMALL, anchor="ma")

    def _legend(self, box: Box) -> None:
        (calculation,) = self.panel.json["options"]["legend"]["calcs"]
        heading = {"sum": "total", "lastNotNull": "last"}[calculation]
        self.pen.text((box.right, box.top), heading, FAINT, SMALL, anchor="ra")
        for row, each in enumerate(self.series[:ROWS_OF_LEGEND], 1):
            top = box.top + row * ROW_H
            value = each.sum if calculation == "sum" else each.last
            said = shown(value, self.panel.unit)
            self.pen.rectangle((box.left, top + 5, box.left + 11, top + 8), self._colour(each.name))
            room = box.right - box.left - 28 - TEXT.getlength(said)
            self.pen.text((box.left + 17, top), shortened(each.name, room, TEXT), INK, TEXT)
            self.pen.text((box.right, top), said, INK, TEXT, anchor="ra")
        if (more := len(self.series) - ROWS_OF_LEGEND) > 0:
            top = box.top + (ROWS_OF_LEGEND + 1) * ROW_H
            self.pen.text((box.left + 17, top), f"and {more} more", FAINT, TEXT)

    def _levels(self, box: Box) -> None:
        most = max(each.last for each in self.series) or 1.0
        height = (box.bottom - box.top) / len(self.series)
        left, right = box.left + 190, box.right - 70
        for row, each in enumerate(self.series):
            middle = box.top + (row + 0.5) * height
            thick = min(9.0, height / 2 - 2)
            end = left + each.last / most * (right - left)
            self.pen.rectangle((left, middle - thick, right, middle + thick), LINE)
            self.pen.rectangle((left, middle - thick, end, middle + thick), self._colour(each.name))
            self.pen.text((left - 8, middle), each.name, INK, TEXT, anchor="rm")
            said = shown(each.last, self.panel.unit)
            self.pen.text((right + 8, middle), said, INK, TEXT, anchor="lm")

    def _table(self, box: Box) -> None:
        columns, rows = table(self.panel, self.answers)
        most = widths(self.panel)
        lengths = [
            min(
                max(TEXT.getlength(row[at]) for row in (columns, *rows)),
                most.get(column, box.right - box.left),
            )
            for at, column in enumerate(columns)
        ]
        room = box.right - box.left - 14 * len(columns)
        scale = min(1.6, room / sum(lengths))
        left = box.left
        for at, column in enumerate(columns):
            width = lengths[at] * scale
            for line, text in enumerate((column, *(row[at] for row in rows))):
                top = box.top + 4 + line * 24
                ink = FAINT if line == 0 else INK
                self.pen.text((left, top), shortened(text, width, TEXT), ink, TEXT)
            left += width + 14
        self.pen.line((box.left, box.top + 23, box.right, box.top + 23), LINE)

    def _colour(self, name: str) -> str:
        for override in self.panel.json["fieldConfig"].get("overrides", ()):
            wanted = override["matcher"]["options"]
            regexp = override["matcher"]["id"] == "byRegexp"
            if re.search(wanted.strip("/"), name) if regexp else wanted == name:
                colour: str = override["properties"][0]["value"]["fixedColor"]
                return NAMED.get(colour, colour)
        names = sorted(each.name for each in self.series)
        return PALETTE[names.index(name) % len(PALETTE)]


def unbroken(points: Sequence[tuple[float, float]], step: float) -> Iterator[list[Any]]:
    """Points that follow one another; between two of these lists there was no answer."""
    run: list[tuple[float, float]] = []
    for point in points:
        if run and point[0] - run[-1][0] > 1.5 * step:
            yield run
            run = []
        run.append(point)
    if run:
        yield run


def shortened(text: str, room: float, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    """With dots where it does not fit."""
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(text + "...") > room:
        text = text[:-1]
    return text + "..."


def rounded_up(value: float) -> float:
    """The next number that four equal parts suit."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(value))
    parts = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0)
    return next(part * power for part in parts if part * power >= value * 1.02)


def faded(colour: str) -> tuple[int, int, int]:
    """As an area below its line: mixed with the panel."""
    mixed = (
        round(0.45 * int(colour[at : at + 2], 16) + 0.55 * int(PANEL[at : at + 2], 16))
        for at in (1, 3, 5)
    )
    red, green, blue = mixed
    return red, green, blue
