"""A verdict as a line of oracle_trace.jsonl, in the evidence pack's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..events.canonical import digest
from .oracle import Query, Verdict

EVIDENCE_SCHEMA = "0"


def oracle_event(
    verdict: Verdict, *, forbidden: bool = False, versions: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The event's fields; who writes it adds `event`, `ts_ms` and the raw output's digest.

    A forbidden oracle succeeds where its effect is absent. What could not be asked succeeds
    nowhere. `versions` are those behind the answer: adb's, the phone's build.
    """
    known = verdict.holds is not None
    success = known and (verdict.holds is not forbidden)
    return {
        "oracle_name": verdict.name,
        "oracle_type": verdict.kind,
        "phase": verdict.phase,
        "forbidden": forbidden,
        "queries": [_query(query) for query in verdict.queries],
        "facts": verdict.facts,
        "result_digest": digest(verdict.facts),
        "anti_gaming_notes": list(verdict.notes),
        "decision": {
            "success": success,
            "score": 1.0 if success else 0.0,
            "reason": verdict.reason,
            "conclusive": known,
        },
        "capabilities_required": list(verdict.needs),
        "evidence_schema_version": EVIDENCE_SCHEMA,
        "versions": dict(versions or {}),
        "polls": verdict.polls,
        "duration_ms": round(verdict.seconds * 1000),
        "faults": list(verdict.faults),
    }


def _query(query: Query) -> dict[str, Any]:
    return {name: value for name, value in asdict(query).items() if value is not None}
