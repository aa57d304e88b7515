"""Prints what docs/metrics.md says of the dashboards' panels: each with its queries.

What they answered is put in by `make metrics-pictures`, from a real run; without it only queries
are printed, which is what a test compares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "metrics.md"
DASHBOARDS = ROOT / "k8s" / "monitoring" / "dashboards"
BOARDS = {"farm": "Farm", "run": "Run"}
BEGIN = "<!-- panels: begin (make metrics-pictures writes it) -->\n"
END = "<!-- panels: end -->\n"
ANSWERED = "Answered: "

Answered = Callable[[str, str], str]  # by the dashboard and the panel's title


def text(answered: Answered | None = None) -> str:
    return "\n".join(part for board in BOARDS for part in _board(board, answered))


def without_answers(document: str) -> str:
    """The part of the document that the dashboards alone decide."""
    part = document.partition(BEGIN)[2].partition(END)[0]
    return "".join(line for line in part.splitlines(keepends=True) if not line.startswith(ANSWERED))


def write(answered: Answered) -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(before + BEGIN + text(answered) + END + after, encoding="utf-8")


def _board(board: str, answered: Answered | None) -> list[str]:
    parts = [f"### {BOARDS[board]}\n\n![The dashboard {BOARDS[board]}](metrics/{board}.png)\n"]
    for panel in json.loads((DASHBOARDS / f"{board}.json").read_text())["panels"]:
        if panel["type"] != "row":
            said = f"{ANSWERED}{answered(board, panel['title'])}\n" if answered else ""
            parts.append(_panel(panel) + said)
    return parts


def _panel(panel: dict[str, Any]) -> str:
    queries = "\n".join(f"    {target['expr']}" for target in panel["targets"])
    return f"**{panel['title']}** {panel['description']}\n\n{queries}\n\n"


if __name__ == "__main__":
    sys.stdout.write(text())
