"""Which fields has each document and each event, and of what type?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .finding import Findings
from .reading import Fields

_SHA256 = re.compile(r"[0-9a-f]{64}")
MOST = 1 << 62  # of any integer; larger ones only cost time


@dataclass(frozen=True)
class Kind:
    words: str  # what it must be
    holds: Callable[[Any], bool]


def _maybe(kind: Kind) -> Kind:
    return Kind(f"{kind.words}, or null", lambda value: value is None or kind.holds(value))


def is_count(value: object) -> bool:
    """An integer from 0; true and false are none."""
    return type(value) is int and 0 <= value < MOST


def is_sha256(value: object) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _size(value: object) -> bool:
    return isinstance(value, dict) and all(
        is_count(value.get(side)) and value[side] > 0 for side in ("width", "height")
    )


def _frame(value: object) -> bool:
    return isinstance(value, dict) and all(
        is_count(value.get(side)) for side in ("left", "top", "right", "bottom")
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


ANY = Kind("there", lambda value: True)
COUNT = Kind("an integer from 0", is_count)
TEXT = Kind("a text", lambda value: isinstance(value, str))
WORD = Kind("a text that is not empty", lambda value: isinstance(value, str) and value != "")
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
LIST = Kind("a list", lambda value: isinstance(value, list))
TEXTS = Kind("a list of texts", _texts)
SHA256 = Kind("a sha256 in hex", is_sha256)
SIZE = Kind("a width and a height", _size)
FRAME = Kind("left, top, right and bottom", _frame)
PHASE = Kind("pre or post", lambda value: value in ("pre", "post"))
SCHEMA = Kind('"0"', lambda value: value == "0")
INTEGER = Kind("an integer", lambda value: type(value) is int)
STATUS = Kind(
    "success, fail or inconclusive", lambda value: value in ("success", "fail", "inconclusive")
)

Shape = Mapping[str, Kind]

DOCUMENTS: Mapping[str, Shape] = {
    "run_manifest.json": {
        "schema_version": ANY, "created_ts_ms": COUNT, "execution_mode": WORD, "seed": INTEGER,
        "agent": OBJECT, "inference": ANY, "reproducibility": OBJECT, "android": OBJECT,
        "llm_cache": ANY, "action_trace_level": ANY,
    },
    "env_capabilities.json": {
        "schema_version": ANY, "created_ts_ms": COUNT, "host": OBJECT, "repo": OBJECT,
        "android": OBJECT, "host_artifacts": ANY,
    },
    "summary.json": {
        "case_id": WORD, "variant": WORD, "seed": INTEGER, "status": STATUS, "task_success": FLAG,
        "failure_class": _maybe(WORD), "blame": WORD, "phase": WORD, "reason": TEXT,
        "violations": TEXTS, "violations_known": FLAG,
    },
}  # fmt: skip

TRACES: Mapping[str, Mapping[str, Shape]] = {
    "obs_trace": {
        "observation": {
            "step": COUNT, "ui_hash": _maybe(SHA256), "screenshot_file": WORD,
            "screenshot_sha256": SHA256, "warning": _maybe(WORD),
        },
    },
    "screen_trace": {
        "screen": {
            "step": COUNT, "width_px": COUNT, "height_px": COUNT, "density_dpi": COUNT,
            "surface_orientation": _maybe(COUNT), "screenshot_size_px": SIZE,
            "logical_screen_size_px": SIZE, "physical_frame_boundary_px": FRAME,
            "orientation": WORD,
        },
    },
    "foreground_trace": {
        "foreground": {
            "step": COUNT, "package": _maybe(TEXT), "activity": _maybe(TEXT),
            "focus": _maybe(TEXT), "not_responding": _maybe(TEXT),
        },
    },
    "device_trace": {
        "device": {"step": COUNT, "serial": WORD, "state": WORD},
        "reset": {
            "rung": WORD, "snapshot_tag": WORD, "command": WORD, "proven": FLAG, "wrong": TEXTS,
            "duration_ms": COUNT,
        },
        "pins": {"pins": OBJECT, "wrong": TEXTS},
    },
    "agent_call_trace": {
        "agent_call": {
            "step_idx": COUNT, "agent_name": WORD, "provider": WORD, "model_id": _maybe(TEXT),
            "base_url": _maybe(TEXT), "input_digest": SHA256, "response_digest": _maybe(SHA256),
            "latency_ms": COUNT, "tokens_in": _maybe(COUNT), "tokens_out": _maybe(COUNT),
            "error": _maybe(TEXT),
        },
    },
    "agent_action_trace": {
        "agent_action": {
            "step_idx": COUNT, "raw_action": ANY, "normalized_action": _maybe(OBJECT),
            "normalization_warnings": TEXTS,
        },
    },
    "device_input_trace": {},  # its lines are no events: LINE
    "action_trace": {"action": {"step": COUNT, "action": OBJECT, "result": TEXT}},
    "ui_elements": {
        "ui_elements": {
            "step": COUNT, "ui_hash": SHA256, "source": WORD, "ui_elements": LIST,
            "elements_count": COUNT,
        },
    },
    "consent_trace": {
        "ask": {"step": COUNT, "who": WORD, "text": TEXT},
        "confirm": {"step": COUNT, "who": WORD, "text": TEXT},
        "refuse": {"step": COUNT, "who": WORD, "text": TEXT},
        "answer": {"step": COUNT, "who": WORD, "text": TEXT},
    },
    "oracle_trace": {
        "oracle": {
            "oracle_name": WORD, "oracle_type": WORD, "phase": PHASE, "forbidden": FLAG,
            "question": OBJECT, "queries": LIST, "raw": LIST, "facts": ANY,
            "result_digest": SHA256, "anti_gaming_notes": LIST, "decision": OBJECT,
            "capabilities_required": TEXTS, "evidence_schema_version": SCHEMA, "versions": OBJECT,
        },
    },
}  # fmt: skip
LINE: Shape = {
    "step_idx": COUNT, "ref_step_idx": COUNT, "source_level": WORD, "event_type": WORD,
    "payload": OBJECT, "timestamp_ms": COUNT, "mapping_warnings": TEXTS,
}  # fmt: skip
# A trace that may tell of more than it must: what befell the device.
OPEN = frozenset({"device_trace"})


def document_holds(name: str, fields: Fields, findings: Findings) -> bool:
    return _holds(name, 0, fields, DOCUMENTS[name], findings)


def line_holds(trace: str, number: int, fields: Fields, findings: Findings) -> bool:
    """Whether the line is what its trace may hold; findings where it is not."""
    file, events = f"{trace}.jsonl", TRACES[trace]
    if not events:
        return _holds(file, number, fields, LINE, findings)
    event, time = fields.get("event"), fields.get("ts_ms")
    if not isinstance(event, str) or not is_count(time):
        findings.add(file, number, "not_an_event", "it has no event, or no ts_ms")
        return False
    shape = events.get(event)
    if shape is None and trace not in OPEN:
        text = f"{event!r} is none of {', '.join(sorted(events))}"
        findings.add(file, number, "not_an_event", text)
        return False
    return _holds(file, number, fields, shape or {}, findings)


def _holds(file: str, line: int, fields: Fields, shape: Shape, findings: Findings) -> bool:
    missing = [name for name in shape if name not in fields]
    if missing:
        findings.add(file, line, "field_missing", f"it has no {', '.join(missing)}")
    wrong = [name for name in shape if name in fields and not shape[name].holds(fields[name])]
    for name in wrong:
        findings.add(file, line, "field_type", f"{name} must be {shape[name].words}")
    return not missing and not wrong
