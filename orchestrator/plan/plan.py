"""Builds a plan from cases and settings: its records, its digest, and the pair seed. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from pydantic import with_config

from ..cases.load import LoadedCase
from ..cases.model import Case
from ..cases.select import no_match, selection
from ..errors import UsageError
from ..events.canonical import canonical, digest
from ..settings import RunSettings

SCHEMA = 1
MAX_EPISODES = 1_000_000


@with_config(extra="forbid")
@dataclass(frozen=True)
class Episode:
    """One case variant with one seed: the unit of score."""

    id: str  # <case>.<variant>.<repeat>
    case: str
    variant: str  # benign | attack
    repeat: int
    seed: int  # the pair seed: both variants of a case and repeat share it
    expected_s: float  # the case's budget; the coordinator replaces it with measured times


@with_config(extra="forbid")
@dataclass(frozen=True)
class PlannedCase:
    """A case as it was when the plan was built: its model, its site and their digest."""

    id: str
    digest: str  # over case and site
    case: dict[str, Any]  # the case's model, as JSON
    site: dict[str, str]  # path below site/ -> base64 of the file


@with_config(extra="forbid")
@dataclass(frozen=True)
class Plan:
    seed: int
    repeats: int
    agent: str
    profile: str
    profile_digest: str
    cases: tuple[PlannedCase, ...]
    episodes: tuple[Episode, ...]

    def as_json(self) -> dict[str, Any]:
        """The content of plan.json: everything that decides what is run, and the digest."""
        return {**self._body(), "digest": self.digest}

    @cached_property
    def digest(self) -> str:
        return digest(self._body())

    def case(self, id: str) -> PlannedCase:
        return self._by_id[id]

    @cached_property
    def _by_id(self) -> dict[str, PlannedCase]:
        return {case.id: case for case in self.cases}

    def _body(self) -> dict[str, Any]:
        """Without copies: `asdict` would copy every case and episode."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        own["cases"] = [vars(case) for case in self.cases]
        own["episodes"] = [vars(episode) for episode in self.episodes]
        return {"schema_version": SCHEMA, **own}


def build(
    cases: Iterable[LoadedCase],
    settings: RunSettings,
    profile: str,
    profile_digest: str,
    k: str = "",
) -> Plan:
    """Every selected variant of every case, repeated as the settings say, sorted by case id.

    `k` is a selection as cases/select.py reads it.
    """
    if settings.repeats < 1:
        raise UsageError(f"a plan cannot have {settings.repeats} repeats; ask for 1 or more")
    keep = selection(k)
    ordered = sorted(cases, key=lambda loaded: loaded.case.id)
    episodes = [
        episode(loaded.case, variant, repeat, settings.seed)
        for loaded in ordered
        for variant in sorted(loaded.case.variants)
        if variant in settings.variants and keep(loaded.case, variant)
        for repeat in range(1, settings.repeats + 1)
    ]
    if not episodes:
        if k:
            raise no_match(k, (loaded.case for loaded in ordered))
        raise UsageError("no episode is left to run; ask for other cases or variants")
    if len(episodes) > MAX_EPISODES:
        raise UsageError(f"{len(episodes)} episodes are more than {MAX_EPISODES}; ask for fewer")
    used = {each.case for each in episodes}
    return Plan(
        seed=settings.seed,
        repeats=settings.repeats,
        agent=settings.agent,
        profile=profile,
        profile_digest=profile_digest,
        cases=tuple(_planned(loaded) for loaded in ordered if loaded.case.id in used),
        episodes=tuple(episodes),
    )


def episode(case: Case, variant: str, repeat: int, seed: int) -> Episode:
    """One episode of a case under this global seed."""
    return Episode(
        id=f"{case.id}.{variant}.{repeat}",
        case=case.id,
        variant=variant,
        repeat=repeat,
        seed=pair_seed(seed, case.id, repeat) if case.case_seed is None else case.case_seed,
        expected_s=float(case.budget.seconds),
    )


def _planned(loaded: LoadedCase) -> PlannedCase:
    body = loaded.case.model_dump(mode="json", by_alias=True)
    return PlannedCase(loaded.case.id, loaded.digest, body, dict(loaded.site))


def pair_seed(seed: int, case: str, repeat: int) -> int:
    """63 bits, equal for both variants of a case, on any backend and in any order."""
    data = canonical([seed, case, repeat])
    return int.from_bytes(hashlib.sha256(data).digest()[:8]) >> 1
