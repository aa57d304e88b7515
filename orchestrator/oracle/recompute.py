"""Recomputes an oracle's decision from the evidence and reports every difference.

The oracle is rebuilt from the event's question and given the recorded raw results. If one of them
was truncated, the facts are taken as recorded, and only the digest and the decision are recomputed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from ..events.canonical import Json, digest
from ..settings import RAW_LIMIT
from .factory import oracle_of_question
from .oracle import UNANSWERED, InquiryResult, Oracle, Raw, run_inquiry
from .trace import decision_fields, query_fields

Read = Callable[[str], bytes]  # a recorded raw result, by its path in the bundle


class _Inconsistent(Exception):
    """The evidence contradicts itself; the text says how."""


def recompute(event: Mapping[str, Any], raw: Read) -> list[str]:
    """One sentence for each difference; empty if the decision follows from the evidence."""
    name = event.get("oracle_name")
    try:
        oracle = oracle_of_question(event["question"])
        return [f"{name}: {text}" for text in _differences(event, oracle, raw)]
    except _Inconsistent as difference:
        return [f"{name}: {difference}"]
    except Exception as error:  # noqa: BLE001 - any error in tampered evidence is a difference
        return [f"{name}: the event cannot be recomputed: {type(error).__name__}: {error}"]


def _differences(event: Mapping[str, Any], oracle: Oracle[Any], raw: Read) -> list[str]:
    wrong = []
    results = [_raw(entry, raw) for entry in event["raw"]]
    if None not in results:
        inquiry = _replayed(oracle, [each for each in results if each is not None])
        if [query_fields(query) for query, _ in inquiry.answers] != event["queries"]:
            wrong.append("its queries are not those of the question")
        if inquiry.facts != event["facts"]:
            found, recorded = _short(inquiry.facts), _short(event["facts"])
            wrong.append(f"the raw results give {found}, not {recorded}")
    elif event["facts"] is None:
        # The cause of the missing facts cannot be recomputed; without facts nothing is conclusive.
        fault = str(event["decision"]["reason"]).removeprefix(UNANSWERED)
        inquiry = InquiryResult((), fault=fault)
    else:
        inquiry = InquiryResult((), event["facts"])
    decision, forbidden = inquiry.decision(oracle), event["forbidden"]
    computed: dict[str, Json] = {
        "oracle_name": oracle.question.name,
        "oracle_type": oracle.question.kind,
        "result_digest": digest(event["facts"]),
        "decision": decision_fields(decision.holds, decision.reason, forbidden=forbidden),
        "capabilities_required": list(oracle.needs),
        "anti_gaming_notes": list(oracle.notes),
    }
    wrong += [
        f"its {key} is {_short(event[key])}, not {_short(wanted)}"
        for key, wanted in computed.items()
        if event[key] != wanted
    ]
    return wrong


def _raw(entry: Mapping[str, Any], read: Read) -> Raw | None:
    """The raw result of an entry; None if it was truncated."""
    file, size = entry["file"], entry["size"]
    try:
        data = read(file)
    except OSError as error:
        raise _Inconsistent(f"{file} cannot be read: {error.strerror}") from error
    if len(data) == RAW_LIMIT < size:
        return None
    if len(data) != size or hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise _Inconsistent(f"{file} differs from its recorded size or digest")
    return Raw(data, entry["exit_code"], entry["error"])


def _replayed(oracle: Oracle[Any], results: list[Raw]) -> InquiryResult:
    left = iter(results)

    def answer(query: object) -> Raw:
        raw = next(left, None)
        if raw is None:
            raise _Inconsistent("it makes more queries than there are raw results")
        return raw

    inquiry = run_inquiry(oracle, answer)
    if next(left, None) is not None:
        raise _Inconsistent("there are raw results for which it makes no query")
    return inquiry


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
