"""Asks a Prometheus what the panels of a dashboard show, as Grafana would ask it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.prometheus import Prometheus

DASHBOARDS = Path(__file__).parents[2] / "k8s" / "monitoring" / "dashboards"
LABEL = re.compile(r"\{\{(\w+)\}\}")  # of a legend


@dataclass(frozen=True)
class View:
    """What somebody has chosen in a dashboard's head."""

    run: str  # a regular expression
    start: float
    end: float
    step: float  # seconds; Grafana's least is 30 there, too much for a run of two minutes

    @classmethod
    def of(cls, run: str, start: float, end: float, step: float = 5.0) -> View:
        """From a step on to a step, as Grafana asks for a graph: what a stat says at the view's end
        is then what the graph beside it says last."""
        return cls(run, math.floor(start / step) * step, math.floor(end / step) * step, step)

    def query(self, expression: str) -> str:
        """The expression with the values of its variables."""
        values = {
            "namespace": ".*",
            "run": self.run,
            "__interval": f"{self.step:g}s",
            "__interval_ms": f"{1000 * self.step:g}",
            "__range": f"{math.ceil(self.end - self.start)}s",
            "__range_s": f"{math.ceil(self.end - self.start)}",
        }
        return re.sub(r"\$(\w+)", lambda found: values[found.group(1)], expression)


@dataclass(frozen=True)
class Shown:
    """One series of a panel."""

    name: str  # in its legend
    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]  # without those that are no number

    @property
    def last(self) -> float:
        return self.points[-1][1]

    @property
    def sum(self) -> float:
        return sum(value for _, value in self.points)


@dataclass(frozen=True)
class Target:
    """One query of a panel."""

    expression: str
    legend: str
    instant: bool

    @property
    def labels(self) -> set[str]:
        """Those by which its series differ, where there may be more than one."""
        return set(LABEL.findall(self.legend))

    def ask(self, prometheus: Prometheus, view: View) -> list[Shown]:
        query = view.query(self.expression)
        if self.instant:
            found = [
                (each["metric"], [each["value"]]) for each in prometheus.query(query, view.end)
            ]
        else:
            asked = prometheus.query_range(query, view.start, view.end, view.step)
            found = [(each["metric"], each["values"]) for each in asked]
        shown = [
            Shown(self.name(labels), labels, tuple(numbers(points))) for labels, points in found
        ]
        return sorted((each for each in shown if each.points), key=lambda each: each.name)

    def name(self, labels: Mapping[str, str]) -> str:
        """Of a series in the legend."""
        return LABEL.sub(lambda found: labels.get(found.group(1), ""), self.legend).strip()


@dataclass(frozen=True)
class Panel:
    title: str
    text: str
    kind: str  # row, stat, timeseries, bargauge or table
    targets: tuple[Target, ...]
    json: Mapping[str, Any]

    @property
    def counts(self) -> bool:
        """It has bars, whose sums are in its legend."""
        legend = self.json.get("options", {}).get("legend", {})
        return "sum" in legend.get("calcs", ())

    @property
    def unit(self) -> str:
        return str(self.json["fieldConfig"]["defaults"]["unit"])


Answers = Mapping[
    str, tuple[tuple[Shown, ...], ...]
]  # of each panel by its title, target by target


def panels(board: str) -> list[Panel]:
    """Of the dashboard in `<board>.json`, headings of rows included."""
    found = json.loads((DASHBOARDS / f"{board}.json").read_text())["panels"]
    return [
        Panel(
            each["title"], each.get("description", ""), each["type"],
            tuple(
                Target(one["expr"], one["legendFormat"], one.get("instant", False))
                for one in each.get("targets", ())
            ),
            each,
        )
        for each in found
    ]  # fmt: skip


def answers(prometheus: Prometheus, board: str, view: View) -> Answers:
    return {
        panel.title: tuple(tuple(target.ask(prometheus, view)) for target in panel.targets)
        for panel in panels(board)
        if panel.targets
    }


def numbers(points: list[tuple[float, str]]) -> Iterator[tuple[float, float]]:
    for moment, text in points:
        if math.isfinite(value := float(text)):
            yield moment, value
