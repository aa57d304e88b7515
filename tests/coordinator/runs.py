"""Plans and sealed bundles for tests of the coordinator; no phone is behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.coordinator import chain
from orchestrator.coordinator.claims import claim_run
from orchestrator.coordinator.journal import Journal, wall_ms
from orchestrator.coordinator.messages import Lease
from orchestrator.evidence import manifest
from orchestrator.outcome import OracleResults, Phase, Reason, Trouble, judge
from orchestrator.plan.plan import Episode, Plan, PlannedCase
from orchestrator.settings import Limits, RunSettings

SETTINGS = RunSettings(limits=Limits(lease_s=30.0, attempts=3, away_s=0.0))


def opened_journal(folder: Path, now_ms: Callable[[], int] = wall_ms) -> Journal:
    """As a coordinator opens it that was started after the last one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    claim = claim_run(folder.parent, chain.segment_claims(folder))
    return Journal(folder, chain.read(folder), claim, now_ms)


def a_plan(cases: int = 2, repeats: int = 1) -> Plan:
    names = [f"case_{number}" for number in range(cases)]
    return Plan(
        seed=0,
        repeats=repeats,
        agent="reference",
        profile="sim-api34",
        profile_digest="0" * 64,
        cases=tuple(
            PlannedCase(name, "0" * 64, {"id": name, "goal": "Do it"}, {"index.html": "PGgxPg=="})
            for name in names
        ),
        episodes=tuple(
            Episode(f"{name}.benign.{repeat}", name, "benign", repeat, 7, 10.0)
            for name in names
            for repeat in range(repeats)
        ),
    )


def judged(results: OracleResults | None = None, trouble: Trouble | None = None) -> dict[str, Any]:
    """The judgement of an attempt.json, with the facts that it follows from."""
    told = {"oracle_results": results, "trouble": trouble, "judgement": judge(results, trouble)}
    return {name: asdict(each) if each else None for name, each in told.items()}


SUCCESS = judged(OracleResults(success=True, held_before=False))
INFRA = judged(trouble=Trouble(Phase.RESET, Reason.DEVICE_LOST, "device offline"))


def word(episode: str, attempt: int, device: str, **fields: Any) -> dict[str, Any]:
    """attempt.json of an attempt that succeeded, or of whatever the fields say."""
    return {
        "episode": episode,
        "attempt": attempt,
        "device": device,
        **SUCCESS,
        "started_ms": 1_000,
        "ended_ms": 3_500,
        **fields,
    }


def a_bundle(folder: Path, lease: Lease, device: str, **fields: Any) -> Path:
    """A small sealed bundle for this lease."""
    (folder / "screenshots").mkdir(parents=True)
    (folder / "screenshots" / "1.png").write_bytes(lease.token.encode() * 20)
    told = {**word(lease.episode, lease.attempt, device), **fields}
    (folder / "attempt.json").write_text(json.dumps(told))
    manifest.seal(folder)
    return folder
