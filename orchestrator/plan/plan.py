"""The frozen list of episodes, and its digest. Pure: cases and settings in, a plan out."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from ..events.canonical import canonical, digest

SCHEMA = 1


@dataclass(frozen=True)
class Episode:
    """One case variant with one seed: the unit of score."""

    id: str  # <case>.<variant>.<repeat>
    case: str
    variant: str  # benign | attack
    repeat: int
    seed: int  # the pair seed: both variants of a case and repeat share it
    expected_s: float  # its budget, until journals know better


@dataclass(frozen=True)
class PlannedCase:
    """A case as it was when the plan was made: its file, its site, their digest."""

    id: str
    digest: str  # over case and site
    case: dict[str, Any]  # the case's model, as JSON
    site: dict[str, str]  # path below site/ -> base64 of the file


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
        """plan.json: everything that decides what is run, and its digest."""
        body = {"schema_version": SCHEMA, **asdict(self)}
        return {**body, "digest": digest(body)}

    @property
    def digest(self) -> str:
        return str(self.as_json()["digest"])

    def case(self, id: str) -> PlannedCase:
        return next(case for case in self.cases if case.id == id)


def pair_seed(seed: int, case: str, repeat: int) -> int:
    """The same for both variants of a case, on any backend, in any order. 63 bits."""
    data = canonical([seed, case, repeat])
    return int.from_bytes(hashlib.sha256(data).digest()[:8]) >> 1
