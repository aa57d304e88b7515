"""Rules for oracle events: queries, raw results, facts, digest and decision are complete."""

from __future__ import annotations

import re
from typing import Any

from ...settings import RAW_LIMIT
from .fields import is_count, is_sha256
from .reader import Fields
from .state import AuditState, digest_of

TRACE, RAW = "oracle_trace", "oracle_raw"
_RAW_FILE = re.compile(rf"{RAW}/[A-Za-z0-9_-][A-Za-z0-9._-]*")
_QUERY_KEYS = ("cmd", "sql", "path", "uri")


def check_oracle(state: AuditState, fields: Fields) -> None:
    name, phase, decision = fields["oracle_name"], fields["phase"], fields["decision"]
    state.oracle_events += 1
    if phase == "pre":
        state.asked_before.add(name)
    elif name not in state.asked_before and state.usable(TRACE):
        state.add("oracle_before", f"{name} was not asked before the agent began")
    queries = fields["queries"]
    if not queries or not all(_is_query(query) for query in queries):
        state.add("oracle_query", "a query is missing or incomplete")
    if digest_of(fields["facts"]) != fields["result_digest"]:
        state.add("oracle_digest", "result_digest is not the digest of the facts")
    notes = fields["anti_gaming_notes"]
    if not notes or not all(isinstance(note, str) and note for note in notes):
        state.add("oracle_notes", "no note says why it cannot be gamed")
    versions = fields["versions"]
    if not all(isinstance(versions.get(of), str) and versions[of] for of in ("adb", "fingerprint")):
        state.add("oracle_versions", "the version of adb or of the phone's build is missing")
    _check_raw(state, fields["raw"], len(queries))
    wrong = _decision_problem(decision)
    if wrong is not None:
        state.add("oracle_decision", wrong)
    elif fields["forbidden"] and phase == "post" and _failed(decision):
        state.violations.add(name)


def _failed(decision: Fields) -> bool:
    return decision["conclusive"] and not decision["success"]


def _is_query(query: Any) -> bool:
    if not isinstance(query, dict) or not isinstance(query.get("type"), str) or not query["type"]:
        return False
    asked = [query[key] for key in _QUERY_KEYS if key in query]
    return is_count(query.get("timeout_ms")) and len(asked) == 1 and isinstance(asked[0], str)


def _decision_problem(decision: Fields) -> str | None:
    success, conclusive = decision.get("success"), decision.get("conclusive")
    if not isinstance(success, bool) or not isinstance(conclusive, bool):
        return "success and conclusive are not true or false"
    score = decision.get("score", -1)
    if type(score) not in (int, float) or not 0 <= score <= 1:
        return "its score is not between 0 and 1"
    if not isinstance(decision.get("reason"), str) or not decision["reason"]:
        return "it has no reason"
    return "an inconclusive decision cannot be a success" if success and not conclusive else None


def _check_raw(state: AuditState, results: list[Any], queries: int) -> None:
    """One result per query; what exceeds the limit is not stored, but its digest covers it."""
    if len(results) != queries:
        state.add("oracle_raw", f"{queries} queries have {len(results)} raw results")
        return
    for number, result in enumerate(results):
        wrong = _raw_problem(state, result)
        if wrong is not None:
            state.add("oracle_raw", f"result {number}: {wrong}")
            return


def _raw_problem(state: AuditState, result: Any) -> str | None:
    if not isinstance(result, dict) or not {"exit_code", "error"} <= result.keys():
        return "it has no exit_code or no error"
    file, sha256, size = (result.get(name) for name in ("file", "sha256", "size"))
    if not isinstance(file, str) or _RAW_FILE.fullmatch(file) is None:
        return f"it does not name a file in {RAW}/"
    if not is_sha256(sha256) or not isinstance(size, int) or not is_count(size):
        return "it has no sha256 or no size"
    measure = state.measure(file)
    if measure is None:
        return f"{file} does not exist"
    stored, found = measure
    if stored != min(size, RAW_LIMIT) or (size <= RAW_LIMIT and found != sha256):
        return f"{file} does not match its digest"
    return None


def check_end(state: AuditState, *, reached: bool) -> None:
    if reached and not state.oracle_events and state.usable(TRACE):
        state.add_at(TRACE, 0, "oracle_none", "no oracle was asked")
