"""Writes a run as JUnit XML: a suite per case variant, a test case per episode.

Only the agent's own failures are red: `<failure>` is a failed task, a failed agent, or a success
with a violation. An episode that infrastructure or an oracle left unknown is an `<error>`, an
undecided one is `<skipped>`; neither is ever a failure.
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

Status = Literal["passed", "failure", "error", "skipped"]
EpisodeAndRow = tuple[Episode, EpisodeRow]

MESSAGE_LIMIT = 200
# Characters that XML 1.0 cannot hold, escaped or not.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def status(row: EpisodeRow) -> Status:
    """The JUnit status of an episode."""
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
    """Write suite by suite, so that the whole document is never in memory."""
    episodes = sorted(results.episodes, key=_suite_key)
    facts = _facts(results)
    head = Tree.Element("testsuites", {"name": _clean(results.run), **_counts(episodes)})
    opened = Tree.tostring(head, "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='utf-8'?>\n")
    out.write(opened.removesuffix("</testsuites>") + "\n")
    for (case, variant), members in groupby(episodes, key=_suite_key):
        element = _suite(f"{case}.{variant}", list(members), facts, results)
        Tree.indent(element, level=1)
        out.write(f"  {Tree.tostring(element, 'unicode')}\n")
    out.write("</testsuites>\n")


def _suite(
    name: str, episodes: Sequence[EpisodeAndRow], facts: dict[str, object], results: RunResults
) -> Tree.Element:
    element = Tree.Element("testsuite", {"name": _clean(name), **_counts(episodes)})
    element.append(_properties(facts))
    for episode, row in episodes:
        element.append(_case(name, episode, row, results))
    return element


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
