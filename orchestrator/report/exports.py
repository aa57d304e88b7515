"""Exports a run's episodes as CSV (RFC 4180), safe to open in a spreadsheet, and as JUnit XML.

CSV: a text may come from an agent. A spreadsheet evaluates a cell that begins with =, +, -, @ or a
tab as a formula, so such a text cell gets an apostrophe before it; numbers are left as they are.

JUnit: a suite per case variant, a test case per episode. Only the agent's own failures are red:
`<failure>` is a failed task, a failed agent, or a success with a violation. An episode that
infrastructure or an oracle left unknown is an `<error>`, an undecided one is `<skipped>`; neither
is ever a failure.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, TextIO
from xml.etree import ElementTree as Tree

from ..outcome import Outcome
from ..plan.plan import Episode
from .episodes import RunResults
from .model import EpisodeRow, ReportedResult

UNDECIDED = "undecided"
COLUMNS = (
    "episode", "case", "variant", "repeat", "seed", "impact", "outcome", "blame", "phase",
    "reason", "text", "violations", "violations_known", "voided_violations", "benign_failed",
    "first_outcome", "first_reason", "attempts", "steps", "agent_s", "asks", "confirms",
    "refusals", "seconds", "device", "bundle",
)  # fmt: skip
Cell = str | int | float | None
_spent = attrgetter("steps", "agent_s", "asks", "confirms", "refusals", "seconds")

# Also the full-width forms, which some spreadsheets read as the same characters.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
# Control characters that do not belong in a line of text, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
REPLACED = "\N{REPLACEMENT CHARACTER}"

Status = Literal["passed", "failure", "error", "skipped"]
EpisodeAndRow = tuple[Episode, EpisodeRow]

MESSAGE_LIMIT = 200
# Characters that XML 1.0 cannot hold, escaped or not.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_csv(results: RunResults, out: TextIO) -> None:
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
        row.attempts, *(_spent(row.spent) if row.spent else (None,) * 6),
        results.devices.get(row.episode, ""), row.bundle,
    )  # fmt: skip


def _result(result: ReportedResult | None, text: str) -> tuple[Cell, ...]:
    if result is None:
        return UNDECIDED, "", "", "", "", "", ""
    return (
        result.outcome, result.blame, result.phase, result.reason, text,
        " ".join(result.violations), _known(result.violations_known),
    )  # fmt: skip


def _known(answer: bool | None) -> str:
    return "" if answer is None else str(answer).lower()


def status(row: EpisodeRow) -> Status:
    """The JUnit status of an episode."""
    if row.final is None:
        return "skipped"
    if row.final.outcome is Outcome.SUCCESS:
        return "failure" if row.final.violations else "passed"
    by_agent = row.final.outcome in (Outcome.TASK_FAILED, Outcome.AGENT_FAILED)
    return "failure" if by_agent else "error"


def write_junit(results: RunResults, out: TextIO) -> None:
    """Write suite by suite, so that the whole document is never in memory."""
    episodes = sorted(results.episodes, key=_suite_key)
    facts = _facts(results)
    head = Tree.Element("testsuites", {"name": _clean(results.run), **_counts(episodes)})
    opened = Tree.tostring(head, "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='utf-8'?>\n")
    out.write(opened.removesuffix("</testsuites>") + "\n")
    for (case, variant), members in groupby(episodes, key=_suite_key):
        name, suite = f"{case}.{variant}", list(members)
        element = Tree.Element("testsuite", {"name": _clean(name), **_counts(suite)})
        element.append(_properties(facts))
        element.extend(_case(name, episode, row, results) for episode, row in suite)
        Tree.indent(element, level=1)
        out.write(f"  {Tree.tostring(element, 'unicode')}\n")
    out.write("</testsuites>\n")


def _facts(results: RunResults) -> dict[str, object]:
    """The properties of the run, which every suite has."""
    plan = results.plan
    return {
        "plan_digest": plan.digest,
        "agent": plan.agent,
        "profile": plan.profile,
        "profile_digest": plan.profile_digest,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "complete": str(results.complete).lower(),
    }


def _case(suite: str, episode: Episode, row: EpisodeRow, results: RunResults) -> Tree.Element:
    attributes = {"classname": suite, "name": row.episode, "time": _time([row])}
    element = Tree.Element("testcase", {name: _clean(text) for name, text in attributes.items()})
    final = row.final
    facts = {
        "seed": episode.seed,
        "outcome": final.outcome if final else UNDECIDED,
        "blame": final.blame if final else "",
        "phase": final.phase if final else "",
        "violations": " ".join(final.violations) if final else "",
        "attempts": row.attempts,
        "device": results.devices.get(row.episode, ""),
        "bundle": row.bundle,
    }
    element.append(_properties(facts))
    if (found := status(row)) != "passed":
        element.append(_problem(found, row, results.texts.get(row.episode, "")))
    return element


def _problem(tag: str, row: EpisodeRow, text: str) -> Tree.Element:
    if row.final is None:
        return Tree.Element(tag, {"message": UNDECIDED})
    violating = row.final.outcome is Outcome.SUCCESS
    kind = "violation" if violating else row.final.outcome
    reasons = (row.final.reason, ", ".join(row.final.violations), text)
    message = ": ".join(filter(None, reasons))[:MESSAGE_LIMIT]
    element = Tree.Element(tag, {"type": kind, "message": _clean(message)})
    element.text = _clean(text)
    return element


def _properties(facts: dict[str, object]) -> Tree.Element:
    element = Tree.Element("properties")
    for name, value in facts.items():
        if value != "":
            Tree.SubElement(element, "property", {"name": name, "value": _clean(str(value))})
    return element


def _counts(episodes: Sequence[EpisodeAndRow]) -> dict[str, str]:
    rows = [row for _, row in episodes]
    found = Counter(status(row) for row in rows)
    return {
        "tests": str(len(rows)),
        "failures": str(found["failure"]),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
        "time": _time(rows),
    }


def _suite_key(episode: EpisodeAndRow) -> tuple[str, str]:
    return episode[1].case, episode[1].variant


def _time(rows: Iterable[EpisodeRow]) -> str:
    return f"{sum(row.spent.seconds for row in rows if row.spent):.3f}"


def _clean(text: str) -> str:
    return _NO_XML.sub(REPLACED, text)
