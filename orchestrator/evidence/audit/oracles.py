"""Is each oracle's answer whole: question, queries, raw results, facts, digest, decision?"""

from __future__ import annotations

import re
from typing import Any

from ...settings import RAW_LIMIT
from .reading import Fields
from .seen import Seen, digest_of
from .shapes import is_count, is_sha256

TRACE, RAW = "oracle_trace", "oracle_raw"
_RAW_FILE = re.compile(rf"{RAW}/[A-Za-z0-9_-][A-Za-z0-9._-]*")
_ASKED_BY = ("cmd", "sql", "path", "uri")


def oracle(seen: Seen, line: int, fields: Fields) -> None:
    name, phase, decision = fields["oracle_name"], fields["phase"], fields["decision"]
    seen.asked += 1
    if phase == "pre":
        seen.asked_before.add(name)
    elif name not in seen.asked_before and seen.whole(TRACE):
        seen.add(TRACE, line, "oracle_before", f"{name} was not asked before the agent began")
    queries = fields["queries"]
    if not queries or not all(_is_query(query) for query in queries):
        seen.add(TRACE, line, "oracle_query", "a query is missing, or does not say what it asks")
    if digest_of(fields["facts"]) != fields["result_digest"]:
        seen.add(TRACE, line, "oracle_digest", "result_digest is not the digest of the facts")
    notes = fields["anti_gaming_notes"]
    if not notes or not all(isinstance(note, str) and note for note in notes):
        seen.add(TRACE, line, "oracle_notes", "no words say why it cannot be gamed")
    versions = fields["versions"]
    if not all(isinstance(versions.get(of), str) and versions[of] for of in ("adb", "fingerprint")):
        seen.add(TRACE, line, "oracle_versions", "adb's version, or the phone's build, is not told")
    _raw(seen, line, fields["raw"], len(queries))
    wrong = _decision_problem(decision)
    if wrong is not None:
        seen.add(TRACE, line, "oracle_decision", wrong)
    elif fields["forbidden"] and phase == "post" and _failed(decision):
        seen.violations.add(name)


def _failed(decision: Fields) -> bool:
    return decision["conclusive"] and not decision["success"]


def _is_query(query: Any) -> bool:
    if not isinstance(query, dict) or not isinstance(query.get("type"), str) or not query["type"]:
        return False
    said = [query[by] for by in _ASKED_BY if by in query]
    return is_count(query.get("timeout_ms")) and len(said) == 1 and isinstance(said[0], str)


def _decision_problem(decision: Fields) -> str | None:
    success, conclusive = decision.get("success"), decision.get("conclusive")
    if not isinstance(success, bool) or not isinstance(conclusive, bool):
        return "success and conclusive are not true or false"
    score = decision.get("score", -1)
    if type(score) not in (int, float) or not 0 <= score <= 1:
        return "its score is not within 0 and 1"
    if not isinstance(decision.get("reason"), str) or not decision["reason"]:
        return "it has no reason"
    return "what is not conclusive is no success" if success and not conclusive else None


def _raw(seen: Seen, line: int, results: list[Any], queries: int) -> None:
    """One result for each query, stored whole up to a limit; its digest is over all of it."""
    if len(results) != queries:
        seen.add(TRACE, line, "oracle_raw", f"{queries} queries have {len(results)} raw results")
        return
    for number, result in enumerate(results):
        wrong = _raw_problem(seen, result)
        if wrong is not None:
            seen.add(TRACE, line, "oracle_raw", f"result {number}: {wrong}")
            return


def _raw_problem(seen: Seen, result: Any) -> str | None:
    if not isinstance(result, dict) or not {"exit_code", "error"} <= result.keys():
        return "it has no exit_code, or no error"
    file, sha256, size = (result.get(name) for name in ("file", "sha256", "size"))
    if not isinstance(file, str) or _RAW_FILE.fullmatch(file) is None:
        return f"it names no file in {RAW}/"
    if not is_sha256(sha256) or not isinstance(size, int) or not is_count(size):
        return "it has no sha256, or no size"
    measure = seen.measure(file)
    if measure is None:
        return f"{file} is not there"
    stored, found = measure
    if stored != min(size, RAW_LIMIT) or (size <= RAW_LIMIT and found != sha256):
        return f"{file} is not what its digest says"
    return None


def end(seen: Seen, *, reached: bool) -> None:
    if reached and not seen.asked and seen.whole(TRACE):
        seen.add(TRACE, 0, "oracle_none", "no oracle was asked")
