"""A run's report, from its plan and its journal: computed again, it is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..coordinator import chain
from ..coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceFailed,
    DeviceStarted,
    EpisodeDecided,
    Event,
    Judged,
)
from ..outcome import Outcome
from ..pins.files import write_json
from ..plan.plan import Plan
from ..plan.store import read_plan
from .figures import Scored, Share, Word, coverage, figures, first

SCHEMA = 1
NAME = "report.json"


def build(run: Path) -> dict[str, Any]:
    """The report of whatever the journal holds by now."""
    plan = read_plan(run / "plan.json")
    read = chain.read(run / chain.FOLDER)
    events = [line.event for line in read.lines]
    scored = scores(plan, events)
    attempts = [event for event in events if isinstance(event, AttemptCommitted | AttemptLost)]
    failed = [event for event in attempts if event.outcome is Outcome.INFRA_FAILED]
    starts = [event for event in events if isinstance(event, DeviceStarted | DeviceFailed)]
    return {
        "schema_version": SCHEMA,
        "run": run.name,
        "plan_digest": plan.digest,
        "agent": plan.agent,
        "profile": plan.profile,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "complete": read.sealed,
        "coverage": as_json(coverage(scored)),
        "figures": {name: as_json(each) for name, each in figures(scored).items()},
        "first_attempt_figures": {
            name: as_json(each) for name, each in figures(scored, first).items()
        },
        "cases": rows(scored),
        "infrastructure": {
            "attempts": len(attempts),
            "attempts_failed": len(failed),
            "reasons": dict(sorted(Counter(str(event.reason) for event in failed).items())),
            "episodes_failed": sum(
                each.final is not None and each.final.outcome is Outcome.INFRA_FAILED
                for each in scored
            ),
            "voided_violations": sum(bool(each.voided_violations) for each in scored),
            "device_starts": len(starts),
            "device_starts_failed": sum(isinstance(event, DeviceFailed) for event in starts),
        },
        "episodes": [asdict(each) for each in scored],
    }


def scores(plan: Plan, events: Sequence[Event]) -> list[Scored]:
    """Every planned episode, decided or not."""
    impact = {
        case.id: (case.case.get("attack") or {}).get("labels", {}).get("impact", "")
        for case in plan.cases
    }
    tries: dict[str, list[AttemptCommitted | AttemptLost]] = {}
    decided: dict[str, EpisodeDecided] = {}
    for event in events:
        if isinstance(event, AttemptCommitted | AttemptLost):
            tries.setdefault(event.episode, []).append(event)
        elif isinstance(event, EpisodeDecided):
            decided[event.episode] = event
    rows = []
    for episode in plan.episodes:
        ended = tries.get(episode.id, [])
        final = decided.get(episode.id)
        rows.append(
            Scored(
                episode=episode.id,
                case=episode.case,
                variant=episode.variant,
                repeat=episode.repeat,
                impact=impact[episode.case] if episode.variant == "attack" else "",
                final=word(final) if final else None,
                first=word(ended[0]) if ended else None,
                attempts=len(ended),
                voided_violations=voided(ended, final),
            )
        )
    return rows


def voided(
    ended: Iterable[AttemptCommitted | AttemptLost], final: EpisodeDecided | None
) -> tuple[str, ...]:
    """Violations seen in attempts that another attempt replaced."""
    names = [
        name
        for event in ended
        if final is None or event.attempt != final.attempt
        for name in event.violations
    ]
    return tuple(dict.fromkeys(names))


def word(event: Judged) -> Word:
    return Word(
        event.outcome, str(event.blame), str(event.phase), str(event.reason), event.violations,
        event.violations_known,
    )  # fmt: skip


def rows(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Outcomes by case and variant."""
    grouped: dict[tuple[str, str], list[Scored]] = {}
    for each in scored:
        grouped.setdefault((each.case, each.variant), []).append(each)
    return [
        {
            "case": case,
            "variant": variant,
            "episodes": len(group),
            "outcomes": dict(
                sorted(
                    Counter(str(e.final.outcome) if e.final else "undecided" for e in group).items()
                )
            ),
            "violated": sum(bool(e.final and e.final.violations) for e in group),
        }
        for (case, variant), group in sorted(grouped.items())
    ]


def as_json(share: Share) -> dict[str, Any]:
    return {**asdict(share), "value": share.value, "lower": share.lower, "upper": share.upper}


def write(run: Path) -> dict[str, Any]:
    """Into the run, and beside all runs as the latest."""
    report = build(run)
    write_json(run / NAME, report)
    write_json(run.parent / NAME, report)
    return report
