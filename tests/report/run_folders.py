"""Writes a run's folder for tests, from a judgement for each attempt, without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    EpisodeDecided,
    Event,
    RunOpened,
    RunSealed,
    SegmentOpened,
)
from orchestrator.outcome import Blame, Effort, Judgement, Outcome, Phase, Reason
from orchestrator.pins.run_manifest import MANIFEST
from orchestrator.plan.plan import Episode, Plan, PlannedCase, pair_seed
from orchestrator.plan.store import FILE, write_plan

IMAGE = "1" * 64
SUCCESS = Judgement(Outcome.SUCCESS, Blame.NONE, Phase.ORACLE, violations_known=True)
FAILED = Judgement(
    Outcome.TASK_FAILED, Blame.AGENT, Phase.AGENT, Reason.WRONG_END, "not so",
    violations_known=True,
)  # fmt: skip
CRASHED = Judgement(
    Outcome.AGENT_FAILED, Blame.AGENT, Phase.AGENT, Reason.AGENT_CRASHED, "gone",
    violations_known=True,
)  # fmt: skip
UNKNOWN = Judgement(
    Outcome.ORACLE_INCONCLUSIVE, Blame.NONE, Phase.ORACLE, Reason.ORACLE_UNANSWERED, "no answer",
    violations_known=False,
)  # fmt: skip
INFRA = Judgement(
    Outcome.INFRA_FAILED, Blame.INFRA, Phase.RESET, Reason.DEVICE_LOST, "adb: offline",
    violations_known=False,
)  # fmt: skip
LEAKED = replace(SUCCESS, violations=("leak",))

Judgements = Mapping[str, Sequence[Judgement]]  # episode -> each attempt's; the last one decides


def a_plan(
    impacts: Mapping[str, str], *, repeats: int = 1, seed: int = 0, agent: str = "reference"
) -> Plan:
    """Cases by id, each with the impact of its attack; with "" a case has none."""
    return Plan(
        seed=seed,
        repeats=repeats,
        agent=agent,
        profile="sim-api34",
        profile_digest="0" * 64,
        cases=tuple(a_case(id, impact) for id, impact in sorted(impacts.items())),
        episodes=tuple(
            Episode(f"{id}.{variant}.{n}", id, variant, n, pair_seed(seed, id, n), 60.0)
            for id, impact in sorted(impacts.items())
            for variant in (("attack", "benign") if impact else ("benign",))
            for n in range(1, repeats + 1)
        ),
    )


def a_case(id: str, impact: str, version: str = "0") -> PlannedCase:
    attack = {"labels": {"type": "adversarial", "impact": impact}} if impact else None
    return PlannedCase(id, version * 64, {"id": id, "tags": ["tagged"], "attack": attack}, {})


def write_run(
    run: Path,
    plan: Plan,
    by_episode: Judgements,
    *,
    sealed: bool = True,
    image: str | None = IMAGE,
) -> Path:
    (run / chain.FOLDER).mkdir(parents=True)
    write_plan(run / FILE, plan)
    lock = {"digest": image} if image else {}
    manifest = {"reproducibility": {}, "android": {"image_lock": lock}}
    (run / MANIFEST).write_text(json.dumps(manifest))
    head, lines = chain.FIRST, []
    for seq, event in enumerate(events(run.name, plan, by_episode, sealed), start=1):
        lines.append(chain.encode(seq, 1_000 + seq, head, event))
        head = chain.head_after(lines[-1])
    (run / chain.FOLDER / chain.segment_name(1)).write_bytes(b"".join(lines))
    return run


def events(name: str, plan: Plan, by_episode: Judgements, sealed: bool) -> list[Event]:
    found: list[Event] = [
        SegmentOpened(claim=1, sealed=None),
        RunOpened(
            run=name, plan=plan.digest, agent=plan.agent, profile=plan.profile,
            episodes=len(plan.episodes), settings={},
        ),
    ]  # fmt: skip
    for episode, judgements in by_episode.items():
        for attempt, judgement in enumerate(judgements, start=1):
            bundle = f"episodes/{episode}/attempt-{attempt}-c1"
            found.append(
                AttemptCommitted(
                    token=f"{episode}-{attempt}", episode=episode, attempt=attempt,
                    device=f"slot-0{attempt}.1", started_ms=1_000, ended_ms=3_500,
                    durations={"reset": 0.5, "agent": 2.0}, manifest="0" * 64, bundle=bundle,
                    bundle_bytes=9,
                    effort=Effort(steps=4, agent_s=1.25, inputs=3), judgement=judgement,
                )
            )  # fmt: skip
        found.append(
            EpisodeDecided(
                episode=episode, attempt=len(judgements), judgement=judgements[-1],
                bundle=f"episodes/{episode}/attempt-{len(judgements)}-c1",
            )
        )  # fmt: skip
    if sealed:
        found.append(RunSealed(plan=plan.digest, decided=len(by_episode)))
    return found
