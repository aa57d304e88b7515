"""The document's table of fault classes is the code's."""

from __future__ import annotations

from pathlib import Path

from simphone.faults.guest import EVENTS
from simphone.faults.order import ALWAYS
from simphone.faults.table import FAULTS

DOCUMENT = Path(__file__).parents[2] / "docs/phone.md"


def rows() -> str:
    lines = ["| class | points | times | what happens |", "|---|---|---|---|"]
    for one in FAULTS.values():
        points = "any event" if one.points == EVENTS else ", ".join(f"`{p}`" for p in one.points)
        times = "always" if one.times == ALWAYS else str(one.times)
        argument = one.argument
        more = f" (`{argument.name}={argument.default}`)" if argument else ""
        lines.append(f"| `{one.name}` | {points} | {times} | {one.does}{more} |")
    return "\n".join(lines)


def test_the_table_of_classes_is_fresh() -> None:
    """A stale one is replaced by what this test expects."""
    assert f"\n{rows()}\n" in DOCUMENT.read_text()


def test_the_events_are_all_named() -> None:
    named = ", ".join(f"`{point}`" for point in EVENTS)
    assert named in " ".join(DOCUMENT.read_text().split())
