"""The event of oracle_trace.jsonl for a verdict, with the evidence pack's field names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..events.canonical import Json, digest
from .factory import question_fields
from .oracle import Query, Raw, Verdict

EVIDENCE_SCHEMA = "0"
Keep = Callable[[bytes], Mapping[str, Json]]  # stores a raw result: file, sha256, size


def oracle_event(
    verdict: Verdict,
    keep: Keep,
    *,
    forbidden: bool = False,
    versions: Mapping[str, Json] | None = None,
) -> dict[str, Any]:
    """The event's fields, without `event` and `ts_ms`, which the writer adds. `raw` is parallel to
    `queries`. `versions`, of adb, the build and the apps, are those that the answer depends on."""
    oracle, inquiry = verdict.oracle, verdict.inquiry
    return {
        "oracle_name": verdict.name,
        "oracle_type": oracle.question.kind,
        "phase": verdict.phase,
        "forbidden": forbidden,
        "question": question_fields(oracle.question),
        "queries": [query_fields(query) for query, _ in inquiry.answers],
        "raw": [_raw(raw, keep) for _, raw in inquiry.answers],
        "facts": inquiry.facts,
        "result_digest": digest(inquiry.facts),
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
    """A forbidden oracle succeeds if its effect is absent; an unanswered question never does."""
    success = holds is not None and holds is not forbidden
    return {
        "success": success,
        "score": 1.0 if success else 0.0,
        "reason": reason,
        "conclusive": holds is not None,
    }


def holds_of(event: Mapping[str, Any]) -> bool | None:
    """Whether the event's question holds, forbidden or not; None if it was not answered."""
    decision = event["decision"]
    if not decision["conclusive"]:
        return None
    return bool(decision["success"]) is not bool(event["forbidden"])


def query_fields(query: Query) -> dict[str, Json]:
    return {name: value for name, value in asdict(query).items() if value is not None}


def _raw(raw: Raw, keep: Keep) -> dict[str, Json]:
    return {**keep(raw.data), "exit_code": raw.exit_code, "error": raw.error}
