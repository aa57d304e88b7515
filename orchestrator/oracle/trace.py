"""A verdict as a line of oracle_trace.jsonl, in the evidence pack's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..events.canonical import Json, digest
from .factory import question_fields
from .oracle import Query, Raw, Verdict

EVIDENCE_SCHEMA = "0"
Keep = Callable[[bytes], Mapping[str, Json]]  # of one raw result: file, sha256, size


def oracle_event(
    verdict: Verdict,
    keep: Keep,
    *,
    forbidden: bool = False,
    versions: Mapping[str, Json] | None = None,
) -> dict[str, Any]:
    """The event's fields; who writes it adds `event` and `ts_ms`.

    `raw` is parallel to `queries`. `versions` are those behind the answer: adb's, the phone's
    build, the apps'.
    """
    oracle, told = verdict.oracle, verdict.inquiry
    return {
        "oracle_name": verdict.name,
        "oracle_type": oracle.question.kind,
        "phase": verdict.phase,
        "forbidden": forbidden,
        "question": question_fields(oracle.question),
        "queries": [query_fields(query) for query, _ in told.answers],
        "raw": [_raw(raw, keep) for _, raw in told.answers],
        "facts": told.facts,
        "result_digest": digest(told.facts),
        "anti_gaming_notes": list(oracle.notes),
        "decision": decision_fields(verdict.holds, verdict.reason, forbidden=forbidden),
        "capabilities_required": list(oracle.needs),
        "evidence_schema_version": EVIDENCE_SCHEMA,
        "versions": dict(versions or {}),
        "polls": verdict.polls,
        "duration_ms": round(verdict.seconds * 1000),
        "faults": list(verdict.faults),
        "retries": list(verdict.retries),
    }


def decision_fields(holds: bool | None, reason: str, *, forbidden: bool) -> dict[str, Json]:
    """A forbidden oracle succeeds where its effect is absent. What could not be asked succeeds
    nowhere."""
    success = holds is not None and holds is not forbidden
    return {
        "success": success,
        "score": 1.0 if success else 0.0,
        "reason": reason,
        "conclusive": holds is not None,
    }


def holds_of(event: Mapping[str, Any]) -> bool | None:
    """What the oracle of an event said of its question, forbidden or not."""
    decision = event["decision"]
    if not decision["conclusive"]:
        return None
    return bool(decision["success"]) is not bool(event["forbidden"])


def query_fields(query: Query) -> dict[str, Json]:
    return {name: value for name, value in asdict(query).items() if value is not None}


def _raw(raw: Raw, keep: Keep) -> dict[str, Json]:
    return {**keep(raw.data), "exit_code": raw.exit_code, "error": raw.error}
