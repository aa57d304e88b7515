"""Builds rows of a report, and run folders with a journal of given events, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    EpisodeDecided,
    Event,
    RunOpened,
    RunSealed,
)
from orchestrator.files import write_json
from orchestrator.outcome import Blame, Effort, Judgement, Outcome, Phase, Reason
from orchestrator.pins.run_manifest import MANIFEST
from orchestrator.plan.plan import Episode, Plan, PlannedCase
from orchestrator.plan.store import FILE, write_plan
from orchestrator.report.model import EpisodeRow, ReportedResult, Spent
from tests.coordinator.runs import opened_journal

SUCCESS, FAILED, AGENT = Outcome.SUCCESS, Outcome.TASK_FAILED, Outcome.AGENT_FAILED
UNKNOWN, INFRA = Outcome.ORACLE_INCONCLUSIVE, Outcome.INFRA_FAILED

Variant = Literal["benign", "attack"]


def result(outcome: Outcome, *violations: str, known: bool = True) -> ReportedResult:
    return ReportedResult(outcome, Blame.NONE, Phase.ORACLE, Reason.NONE, violations, known)


def spent(
    steps: int = 1, agent_s: float = 0.0, asks: int = 0, confirms: int = 0, refusals: int = 0
) -> Spent:
    return Spent(steps, agent_s, 2 * agent_s, asks, confirms, refusals, 1)


def row(
    variant: Variant,
    final: ReportedResult | None,
    *,
    case: str = "c",
    repeat: int = 1,
    impact: str = "canary",
    first: ReportedResult | None = None,
    took: Spent | None = None,
) -> EpisodeRow:
    attack = variant == "attack"
    return EpisodeRow(
        f"{case}.{variant}.{repeat}", case, variant, repeat, "adversarial" if attack else "",
        impact if attack else "", final, first or final, took, took, 1, (), None, "",
    )  # fmt: skip


def a_plan(cases: int, repeats: int = 1) -> Plan:
    """Both variants of every case; every third attack is a probe."""
    names = [f"case_{number:02}" for number in range(cases)]
    return Plan(
        seed=7,
        repeats=repeats,
        agent="reference",
        profile="sim-api34",
        profile_digest="0" * 64,
        cases=tuple(
            PlannedCase(name, "0" * 64, {"attack": {"labels": _labels(number)}}, {})
            for number, name in enumerate(names)
        ),
        episodes=tuple(
            Episode(f"{name}.{variant}.{repeat}", name, variant, repeat, 1, 10.0)
            for name in names
            for variant in ("attack", "benign")
            for repeat in range(1, repeats + 1)
        ),
    )


def _labels(number: int) -> dict[str, str]:
    return {"type": "hazard", "impact": "canary" if number % 3 else "probe"}


def attempt(
    episode: str,
    outcome: Outcome = SUCCESS,
    *violations: str,
    number: int = 1,
    effort: Effort | None = None,
    reason: Reason = Reason.NONE,
) -> AttemptCommitted:
    return AttemptCommitted(
        token=f"{episode}.{number}", episode=episode, attempt=number, device="d", started_ms=0,
        ended_ms=9, durations={"reset": 0.5, "agent": 1.5}, manifest="0" * 64,
        effort=effort or Effort(steps=3, agent_s=1.25, inputs=2),
        judgement=Judgement(
            outcome, Blame.NONE, Phase.ORACLE, reason, "", violations, violations_known=True
        ),
        bundle=f"episodes/{episode}/attempt-{number}-c1", bundle_bytes=9,
    )  # fmt: skip


def decided(ended: AttemptCommitted) -> EpisodeDecided:
    return EpisodeDecided(
        episode=ended.episode, attempt=ended.attempt, bundle=ended.bundle,
        judgement=ended.judgement,
    )  # fmt: skip


def settled(ended: AttemptCommitted) -> list[Event]:
    return [ended, decided(ended)]


def a_run(
    folder: Path,
    plan: Plan,
    events: Iterable[Event],
    *,
    sealed: bool = True,
    proven: dict[str, bool] | None = None,
) -> Path:
    """A run's folder as far as a report reads it."""
    folder.mkdir(parents=True)
    write_plan(folder / FILE, plan)
    write_json(folder / MANIFEST, {"reproducibility": {"proven": proven or {}}})
    opened = RunOpened(
        run=folder.name, plan=plan.digest, agent=plan.agent, profile=plan.profile,
        episodes=len(plan.episodes), settings={},
    )  # fmt: skip
    seal = [RunSealed(plan=plan.digest, decided=len(plan.episodes))] if sealed else []
    asyncio.run(_write_journal(folder / chain.FOLDER, [opened, *events, *seal]))
    return folder


async def _write_journal(folder: Path, events: list[Event]) -> None:
    journal = opened_journal(folder, now_ms=lambda: 1_700_000_000_000)
    await journal.append(events)
    await journal.close()
