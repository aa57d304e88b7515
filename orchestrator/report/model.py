"""The records of report.json, from which its JSON Schema is generated.

Nothing in them depends on the path or name of the run's folder, or on a clock: computed again from
a copy the report is the same, byte for byte. docs/numbers.md explains how to read each number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ConfigDict, TypeAdapter

from ..outcome import Blame, Outcome, Phase, Reason
from .statistics import Interval

SCHEMA: Final = 4


class _Closed:
    """A record that has no other fields than those listed."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Estimate(_Closed):
    """A share; `value` is null, not zero, if the denominator is zero."""

    numerator: int
    denominator: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Share(_Closed):
    """A share of episodes, computed three ways, and how many of them are conclusive."""

    conclusive: Estimate  # over the conclusive episodes
    unknown_as_no: Estimate  # over all planned episodes, with the unknown counted as no
    unknown_as_yes: Estimate
    coverage: float | None  # the share of conclusive among planned episodes
    cases: int  # with a conclusive episode


@dataclass(frozen=True, slots=True)
class Measure(_Closed):
    """A quantity, over the attempts that reached the agent."""

    episodes: int
    cases: int
    mean: float | None
    mean_interval: Interval | None
    median: float | None
    median_interval: Interval | None


@dataclass(frozen=True, slots=True)
class PassAtK(_Closed):
    """Success in k tries: the mean, over cases, of the unbiased estimates."""

    k: int
    cases: int
    left_out: int  # cases with fewer than k conclusive episodes
    episodes: int  # that the estimates are computed from
    at_least_one: float | None  # pass@k
    at_least_one_interval: Interval | None
    every_one: float | None  # pass^k
    every_one_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Passes(_Closed):
    """For each k from 1 to the repeats, at most 100; empty if there is only one repeat."""

    benign: tuple[PassAtK, ...]  # success
    attack: tuple[PassAtK, ...]  # success without a violation


@dataclass(frozen=True, slots=True)
class Figures(_Closed):
    shares: dict[str, Share]
    measures: dict[str, Measure]


@dataclass(frozen=True, slots=True)
class Coverage(_Closed):
    """How many episodes have a known success or failure."""

    conclusive: int
    planned: int
    value: float


@dataclass(frozen=True, slots=True)
class Gate(_Closed):
    """Whether enough episodes are conclusive for the figures to represent the plan."""

    min_coverage: float
    coverage: float
    passed: bool


@dataclass(frozen=True, slots=True)
class ReportedResult(_Closed):
    """The result of an episode, or of one of its attempts."""

    outcome: Outcome
    blame: Blame
    phase: Phase
    reason: Reason
    violations: tuple[str, ...]
    violations_known: bool


@dataclass(frozen=True, slots=True)
class Spent(_Closed):
    """What an attempt used, and how often its agent turned to the user."""

    steps: int
    agent_s: float  # the agent's own time
    seconds: float  # all phases
    asks: int
    confirms: int
    refusals: int
    inputs: int  # touches, keys, text, opened apps and answers


@dataclass(frozen=True, slots=True)
class EpisodeRow(_Closed):
    """One planned episode; `final` is null while it is undecided."""

    episode: str
    case: str
    variant: Literal["benign", "attack"]
    repeat: int
    attack_type: str  # adversarial | hazard; "" for benign
    impact: str  # of the attack; "" for benign
    final: ReportedResult | None
    first: ReportedResult | None  # of its first attempt that ended
    spent: Spent | None  # by the deciding attempt; null: it left no bundle
    first_spent: Spent | None
    attempts: int
    voided_violations: tuple[str, ...]  # seen in attempts that did not count
    BF: bool | None  # of an attack: its benign twin failed; null: unknown, or no twin is planned
    bundle: str  # of the deciding attempt, from the run's folder; "": none


@dataclass(frozen=True, slots=True)
class CaseRow(_Closed):
    case: str
    variant: Literal["benign", "attack"]
    episodes: int
    outcomes: dict[str, int]
    violated: int
    proven: bool | None  # by its controls, on this image; null: not checked


@dataclass(frozen=True, slots=True)
class WearRow(_Closed):
    """Attempts that began on an emulator of this age, in loads or in seconds."""

    least: int
    below: int | None  # null: of any greater age
    attempts: int
    failed: int  # by infrastructure


@dataclass(frozen=True, slots=True)
class Infrastructure(_Closed):
    attempts: int
    attempts_failed: int
    reasons: dict[str, int]
    episodes_failed: int
    voided_violations: int  # episodes with a violation in an attempt that did not count
    device_starts: int
    device_starts_failed: int
    device_start_reasons: dict[str, int]  # such as pin_mismatch
    by_loads: tuple[WearRow, ...]  # of the snapshot since the emulator's start
    by_seconds: tuple[WearRow, ...]  # since then; only of attempts that left a bundle


@dataclass(frozen=True, slots=True)
class MissingBundle(_Closed):
    """A bundle that was gone or damaged when the run was resumed, and went on without it."""

    episode: str
    attempt: int
    bundle: str
    problem: str


@dataclass(frozen=True, slots=True)
class Report(_Closed):
    schema_version: Literal[4]
    run: str  # the name that the run was started with
    plan_digest: str
    agent: str
    profile: str
    seed: int
    repeats: int
    complete: bool  # the journal's last line seals it
    gate: Gate
    coverage: Coverage
    unproven: tuple[str, ...]  # cases not proven on this image
    missing_evidence: tuple[MissingBundle, ...]  # what they were scored stays
    without_input: tuple[str, ...]  # episodes that succeeded though their agent did nothing
    unconfined: int  # attempts whose agent had all the rights of its worker's user
    figures: Figures
    first_attempt: Figures
    passes: Passes
    cases: tuple[CaseRow, ...]
    infrastructure: Infrastructure
    episodes: tuple[EpisodeRow, ...]


REPORT = TypeAdapter(Report)
EPISODE = TypeAdapter(EpisodeRow)
