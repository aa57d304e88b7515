"""Compares how the episodes of two runs ended: outcome, violations and oracle result digests.

A result digest covers an oracle's typed facts without anything that differs between two phones in
the same state. Raw outputs are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..coordinator import chain
from ..coordinator.transitions import EpisodeDecided
from ..errors import UsageError
from ..outcome import Outcome
from ..plan.plan import Plan
from .oracle_facts import Key, result_digests

UNDECIDED, NOT_ASKED = "undecided", "not asked"


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
    untold: tuple[str, ...]  # episodes whose ending is unknown in one of the runs
    missing: tuple[str, ...] = ()  # episodes that only the first run has; not compared

    @property
    def same(self) -> bool | None:
        """None: there is no difference among the known endings, but some are unknown."""
        if self.differences:
            return False
        return None if self.untold else True


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
        untold=tuple(id for id in common if id not in known),
        missing=tuple(id for id in one if id not in other),
    )


def _differences(episode: str, one: Ending, other: Ending) -> list[EndingDifference]:
    found = []
    if one.outcome != other.outcome:
        found.append(EndingDifference(episode, "outcome", one.outcome, other.outcome))
    if one.violations != other.violations:
        names = _names(one.violations), _names(other.violations)
        found.append(EndingDifference(episode, "violations", *names))
    for oracle in dict.fromkeys((*one.results, *other.results)):
        results = one.results.get(oracle, NOT_ASKED), other.results.get(oracle, NOT_ASKED)
        if results[0] != results[1]:
            found.append(EndingDifference(episode, oracle, *results))
    return found


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def endings(run: Path, plan: Plan) -> dict[str, Ending]:
    """The ending of every planned episode, from the journal and the deciding attempts' bundles."""
    decided = {
        line.event.episode: line.event
        for line in chain.JournalReader(run / chain.FOLDER)
        if isinstance(line.event, EpisodeDecided)
    }
    digests = result_digests(run)
    return {
        id: _ending(decided[id], digests[id]) if id in decided else Ending(UNDECIDED)
        for id in (episode.id for episode in plan.episodes)
    }


def _ending(decided: EpisodeDecided, digests: Mapping[Key, str]) -> Ending:
    results = {f"{oracle} ({phase})": digest for (oracle, phase), digest in digests.items()}
    judged = decided.judgement
    return Ending(str(judged.outcome), frozenset(judged.violations), results)


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
