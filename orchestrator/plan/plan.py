"""The plan's records (Plan, PlannedCase, Episode), its digest, and the pair seed. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from pydantic import with_config

from ..events.canonical import canonical, digest

SCHEMA = 1


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


def pair_seed(seed: int, case: str, repeat: int) -> int:
    """63 bits, equal for both variants of a case, on any backend and in any order."""
    data = canonical([seed, case, repeat])
    return int.from_bytes(hashlib.sha256(data).digest()[:8]) >> 1
