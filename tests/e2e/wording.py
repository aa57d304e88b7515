"""Says in words what a panel showed: its numbers with their units, its table, a line of all."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.boards import Panel, Shown


def in_words(panel: Panel, answers: Sequence[Sequence[Shown]]) -> str:
    """One line of what the panel showed."""
    if panel.kind == "table":
        headings, rows = table(panel, answers)
        return "; ".join(
            ", ".join(f"{heading} {cell[:12]}" for heading, cell in zip(headings, row, strict=True))
            for row in rows
        )
    return ", ".join(
        f"{each.name} {shown(each.sum if panel.counts else each.last, panel.unit)}"
        for answer in answers
        for each in answer
    )


def table(panel: Panel, answers: Sequence[Sequence[Shown]]) -> tuple[list[str], list[list[str]]]:
    """Its headings and rows, as its transformations make them: a row for each set of labels."""
    order = panel.json["transformations"][1]["options"]["indexByName"]
    labels = [
        name for name in sorted(order, key=order.__getitem__) if not name.startswith("Value #")
    ]
    units = [
        override["properties"][1]["value"]
        for override in panel.json["fieldConfig"]["overrides"]
        if override["properties"][0]["id"] == "displayName"
    ]
    rows: dict[tuple[str, ...], list[str]] = {}
    for at, answer in enumerate(answers):
        for each in answer:
            key = tuple(each.labels.get(name, "") for name in labels)
            row = rows.setdefault(key, [""] * len(units))
            if units:
                row[at] = shown(each.last, units[at])
    headings = [*labels, *(target.legend for target in panel.targets if units)]
    return headings, [[*key, *row] for key, row in sorted(rows.items())]


def widths(panel: Panel) -> dict[str, float]:
    """Of the columns that have a fixed one, in pixels."""
    return {
        override["matcher"]["options"]: one["value"]
        for override in panel.json["fieldConfig"]["overrides"]
        for one in override["properties"]
        if one["id"] == "custom.width"
    }


def shown(value: float, unit: str) -> str:
    """A number with its unit."""
    if unit == "percentunit":
        return f"{100 * value:.3g} %" if abs(value) < 10 else f"{100 * value:.0f} %"
    if unit == "s":
        if value >= 120:
            return f"{value / 60:.1f} min"
        return f"{value:.3g} s" if value >= 1 or value == 0 else f"{1000 * value:.3g} ms"
    if unit == "Bps":
        return f"{value / 1000:.3g} kB/s"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
