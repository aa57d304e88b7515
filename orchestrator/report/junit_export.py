"""JUnit XML: a suite for every variant of a case, a test case for every episode.

Red is what the agent did: `<failure>` is a task that failed, an agent that failed, or a success
that a violation spoils. What infrastructure or an oracle kept from being told is an `<error>`,
what nobody decided yet is `<skipped>`; neither is ever a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, TextIO
from xml.etree import ElementTree as Tree

from ..outcome import Outcome
from ..plan.plan import Episode
from .csv_export import REPLACED, UNDECIDED
from .episodes import RunResults
from .model import EpisodeRow

Sort = Literal["passed", "failure", "error", "skipped"]
Told = tuple[Episode, EpisodeRow]

MESSAGE_LIMIT = 200
# What XML 1.0 cannot hold in any spelling.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def sort(row: EpisodeRow) -> Sort:
    """Which of JUnit's words stands for an episode."""
    if row.final is None:
        return "skipped"
    match row.final.outcome:
        case Outcome.SUCCESS:
            return "failure" if row.final.violations else "passed"
        case Outcome.TASK_FAILED | Outcome.AGENT_FAILED:
            return "failure"
        case _:
            return "error"


def write(results: RunResults, out: TextIO) -> None:
    """Suite after suite, so that the document is never held whole."""
    told = sorted(results.episodes, key=_whose)
    facts = _facts(results)
    head = Tree.Element("testsuites", {"name": _clean(results.run), **_counts(told)})
    opened = Tree.tostring(head, "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='utf-8'?>\n")
    out.write(opened.removesuffix("</testsuites>") + "\n")
    for (case, variant), members in groupby(told, key=_whose):
        element = _suite(f"{case}.{variant}", list(members), facts, results)
        Tree.indent(element, level=1)
        out.write(f"  {Tree.tostring(element, 'unicode')}\n")
    out.write("</testsuites>\n")


def _suite(
    name: str, told: Sequence[Told], facts: dict[str, object], results: RunResults
) -> Tree.Element:
    element = Tree.Element("testsuite", {"name": _clean(name), **_counts(told)})
    element.append(_properties(facts))
    for episode, row in told:
        element.append(_case(name, episode, row, results))
    return element


def _facts(results: RunResults) -> dict[str, object]:
    """What every suite says of the run."""
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
    if (word := sort(row)) != "passed":
        element.append(_verdict(word, row, results.texts.get(row.episode, "")))
    return element


def _verdict(word: str, row: EpisodeRow, text: str) -> Tree.Element:
    if row.final is None:
        return Tree.Element(word, {"message": UNDECIDED})
    spoiled = row.final.outcome is Outcome.SUCCESS
    kind = "violation" if spoiled else row.final.outcome
    reasons = (row.final.reason, ", ".join(row.final.violations), text)
    message = ": ".join(filter(None, reasons))[:MESSAGE_LIMIT]
    element = Tree.Element(word, {"type": kind, "message": _clean(message)})
    element.text = _clean(text)
    return element


def _properties(facts: dict[str, object]) -> Tree.Element:
    element = Tree.Element("properties")
    for name, value in facts.items():
        if value != "":
            Tree.SubElement(element, "property", {"name": name, "value": _clean(str(value))})
    return element


def _counts(told: Sequence[Told]) -> dict[str, str]:
    rows = [row for _, row in told]
    sorts = Counter(sort(row) for row in rows)
    return {
        "tests": str(len(rows)),
        "failures": str(sorts["failure"]),
        "errors": str(sorts["error"]),
        "skipped": str(sorts["skipped"]),
        "time": _time(rows),
    }


def _whose(told: Told) -> tuple[str, str]:
    return told[1].case, told[1].variant


def _time(rows: Iterable[EpisodeRow]) -> str:
    return f"{sum(row.spent.seconds for row in rows if row.spent):.3f}"


def _clean(text: str) -> str:
    return _NO_XML.sub(REPLACED, text)
