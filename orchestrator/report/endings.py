"""How the episodes of a run ended: outcome, violations and oracle facts; compares two runs.

Oracle facts are read from the deciding attempts' bundles. A result digest covers an oracle's typed
facts without anything that differs between two phones in the same state: two runs of one plan are
equal if these are, whatever the phones' row ids and clocks were. Raw outputs are never compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..coordinator import chain
from ..coordinator.transitions import EpisodeDecided
from ..errors import UsageError
from ..outcome import Outcome
from ..plan.plan import Plan

UNDECIDED, NOT_ASKED = "undecided", "not asked"
TRACE = "oracle_trace.jsonl"

Key = tuple[str, str]  # oracle, phase: pre | post


@dataclass(frozen=True)
class OracleFacts:
    digest: str
    facts: Any


@dataclass(frozen=True)
class Ending:
    """How an episode ended; `results` are digests by oracle and phase."""

    outcome: str
    violations: frozenset[str] = frozenset()
    results: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether the episode was decided, and not by infrastructure."""
        return self.outcome not in (UNDECIDED, Outcome.INFRA_FAILED)


@dataclass(frozen=True)
class EndingDifference:
    episode: str
    what: str  # outcome, violations, or an oracle and its phase
    one: str
    other: str


@dataclass(frozen=True)
class EndingComparison:
    """The field names are keys of `emufarm reproduce --json`."""

    episodes: int
    differences: tuple[EndingDifference, ...]
    unknown: tuple[str, ...]  # episodes whose ending is unknown in one of the runs
    missing: tuple[str, ...] = ()  # episodes that only the first run has; not compared

    @property
    def same(self) -> bool | None:
        """None: there is no difference among the known endings, but some are unknown."""
        if self.differences:
            return False
        return None if self.unknown else True


def compare(one: Mapping[str, Ending], other: Mapping[str, Ending]) -> EndingComparison:
    """Compare the episodes that both runs have."""
    common = [episode for episode in one if episode in other]
    known = {id for id in common if one[id].known and other[id].known}
    return EndingComparison(
        episodes=len(common),
        differences=tuple(
            difference
            for episode in common
            if episode in known
            for difference in _differences(episode, one[episode], other[episode])
        ),
        unknown=tuple(id for id in common if id not in known),
        missing=tuple(id for id in one if id not in other),
    )


def _differences(episode: str, one: Ending, other: Ending) -> list[EndingDifference]:
    texts = [
        {
            "outcome": each.outcome,
            "violations": ", ".join(sorted(each.violations)) or "none",
            **each.results,
        }
        for each in (one, other)
    ]
    pairs = {name: [each.get(name, NOT_ASKED) for each in texts] for name in texts[0] | texts[1]}
    return [EndingDifference(episode, name, a, b) for name, (a, b) in pairs.items() if a != b]


def endings(run: Path, plan: Plan) -> dict[str, Ending]:
    """The ending of every planned episode, from the journal and the deciding attempts' bundles."""
    decisions = _decisions(run)
    return {episode.id: _ending(run, decisions.get(episode.id)) for episode in plan.episodes}


def _ending(run: Path, decided: EpisodeDecided | None) -> Ending:
    if decided is None:
        return Ending(UNDECIDED)
    facts, judged = _oracle_facts(run, decided), decided.judgement
    results = {f"{oracle} ({phase})": each.digest for (oracle, phase), each in facts.items()}
    return Ending(str(judged.outcome), frozenset(judged.violations), results)


def oracle_facts(run: Path) -> dict[str, dict[Key, OracleFacts]]:
    """By episode; empty for one that was lost without a bundle."""
    return {id: _oracle_facts(run, decided) for id, decided in _decisions(run).items()}


def _decisions(run: Path) -> dict[str, EpisodeDecided]:
    events = (line.event for line in chain.JournalReader(run / chain.FOLDER))
    return {event.episode: event for event in events if isinstance(event, EpisodeDecided)}


def _oracle_facts(run: Path, decided: EpisodeDecided) -> dict[Key, OracleFacts]:
    """The last result of each oracle in each phase: the one that it settled on."""
    trace = run / decided.bundle / TRACE
    if not decided.bundle or not trace.exists():  # it ended before any oracle could be asked
        return {}
    found: dict[Key, OracleFacts] = {}
    with trace.open("rb") as lines:
        for event in map(json.loads, lines):
            if event["event"] == "oracle":
                key = (event["oracle_name"], event["phase"])
                found[key] = OracleFacts(event["result_digest"], event["facts"])
    return found


def comparable(one: Plan, other: Plan) -> None:
    """Raise UsageError if two plans have different episodes under the same names."""
    if one.profile_digest != other.profile_digest:
        raise UsageError(
            f"the runs have different profiles: {one.profile} {one.profile_digest[:12]}, "
            f"{other.profile} {other.profile_digest[:12]}"
        )
    if one.agent != other.agent:
        raise UsageError(f"the runs have different agents: {one.agent}, {other.agent}")
    digests = {case.id: case.digest for case in other.cases}
    changed = [case.id for case in one.cases if digests.get(case.id, case.digest) != case.digest]
    if changed:
        raise UsageError(f"the runs have different versions of {', '.join(changed)}")
    seeds = {episode.id: episode.seed for episode in other.episodes}
    drawn = [each.id for each in one.episodes if seeds.get(each.id, each.seed) != each.seed]
    if drawn:
        raise UsageError(
            f"the runs have different seeds ({one.seed}, {other.seed}), so different values in "
            f"{len(drawn)} episodes, such as {drawn[0]}"
        )
    if not any(episode.id in seeds for episode in one.episodes):
        raise UsageError("the runs have no episode in common")
