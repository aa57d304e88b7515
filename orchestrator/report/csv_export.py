"""Writes a run's episodes as CSV (RFC 4180), safe to open in a spreadsheet.

A text may come from an agent. A spreadsheet evaluates a cell that begins with =, +, -, @ or a tab
as a formula, so such a text cell gets an apostrophe before it; numbers are left as they are.
"""

from __future__ import annotations

import csv
import re
from typing import TextIO

from ..plan.plan import Episode
from .episodes import RunResults
from .model import EpisodeRow, ReportedResult, Spent

UNDECIDED = "undecided"
COLUMNS = (
    "episode", "case", "variant", "repeat", "seed", "impact", "outcome", "blame", "phase",
    "reason", "text", "violations", "violations_known", "voided_violations", "benign_failed",
    "first_outcome", "first_reason", "attempts", "steps", "agent_s", "asks", "confirms",
    "refusals", "seconds", "device", "bundle",
)  # fmt: skip
Cell = str | int | float | None

# Also the full-width forms, which some spreadsheets read as the same characters.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
# Control characters that do not belong in a line of text, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
REPLACED = "\N{REPLACEMENT CHARACTER}"


def write(results: RunResults, out: TextIO) -> None:
    """`out` must be opened with newline="": lines end with CR LF."""
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for episode, row in results.episodes:
        writer.writerow([safe(cell) for cell in _cells(episode, row, results)])


def safe(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    plain = _UNPRINTABLE.sub(REPLACED, cell)
    return f"'{plain}" if _FORMULA.match(plain) else plain


def _cells(episode: Episode, row: EpisodeRow, results: RunResults) -> tuple[Cell, ...]:
    return (
        row.episode, row.case, row.variant, row.repeat, episode.seed, row.impact,
        *_result(row.final, results.texts.get(row.episode, "")),
        " ".join(row.voided_violations), _known(row.BF),
        *((row.first.outcome, row.first.reason) if row.first else ("", "")),
        row.attempts, *_spent(row.spent), results.devices.get(row.episode, ""), row.bundle,
    )  # fmt: skip


def _result(result: ReportedResult | None, text: str) -> tuple[Cell, ...]:
    if result is None:
        return UNDECIDED, "", "", "", "", "", ""
    return (
        result.outcome, result.blame, result.phase, result.reason, text,
        " ".join(result.violations), _known(result.violations_known),
    )  # fmt: skip


def _spent(spent: Spent | None) -> tuple[Cell, ...]:
    if spent is None:
        return (None,) * 6
    return (
        spent.steps, spent.agent_s, spent.asks, spent.confirms, spent.refusals, spent.seconds
    )  # fmt: skip


def _known(answer: bool | None) -> str:
    return "" if answer is None else str(answer).lower()
