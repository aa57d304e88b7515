"""Prints the table of metric families from orchestrator/metrics/families.py.

With --write it replaces the table in docs/metrics.md. Needs the installed package: `make families`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from orchestrator.metrics.families import FAMILIES, Family

DOCUMENT = Path(__file__).parents[1] / "docs" / "metrics.md"
BEGIN = "<!-- families: begin (make families writes it) -->\n"
END = "<!-- families: end -->\n"
MOST_VALUES = 8  # that are listed of a label


def table() -> str:
    rows = [
        "| family | kind | source | labels | series | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(row, FAMILIES),
    ]
    most = sum(family.count for family in FAMILIES)
    return "\n".join(rows) + f"\n\nA run of any size has {most} series.\n"


def row(family: Family) -> str:
    labels = ", ".join(described(family)) or "none"
    cells = (f"`{family.full_name}`", family.kind, family.source, labels, family.count, family.help)
    return "| " + " | ".join(map(str, cells)) + " |"


def described(family: Family) -> Iterator[str]:
    """Each label, with its values where they are few."""
    for at, label in enumerate(family.labels):
        values = () if family.kind == "info" else dict.fromkeys(each[at] for each in family.series)
        few = 0 < len(values) <= MOST_VALUES
        shown = f" ({', '.join(values)})" if few else f" ({len(values)} values)" if values else ""
        yield f"`{label}`{shown}"


def main() -> None:
    if "--write" not in sys.argv[1:]:
        print(table(), end="")
        return
    document = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    DOCUMENT.write_text(before + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
