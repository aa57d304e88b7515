"""The fields that each document and each trace event must have, with their types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .reader import Fields
from .rules import Findings

_SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_COUNT = 1 << 62  # larger integers only cost time


@dataclass(frozen=True)
class FieldType:
    text: str  # what a value must be
    accepts: Callable[[Any], bool]


def _or_null(kind: FieldType) -> FieldType:
    return FieldType(f"{kind.text}, or null", lambda value: value is None or kind.accepts(value))


def is_count(value: object) -> bool:
    """An integer from 0; true and false are not integers."""
    return type(value) is int and 0 <= value < MAX_COUNT


def is_sha256(value: object) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _counts(*names: str, least: int = 0) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict)
        and all(is_count(value.get(name)) and value[name] >= least for name in names)
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


ANY = FieldType("present", lambda value: True)
COUNT = FieldType("an integer from 0", is_count)
TEXT = FieldType("a text", lambda value: isinstance(value, str))
NONEMPTY = FieldType(
    "a text that is not empty", lambda value: isinstance(value, str) and value != ""
)
FLAG = FieldType("true or false", lambda value: isinstance(value, bool))
OBJECT = FieldType("an object", lambda value: isinstance(value, dict))
LIST = FieldType("a list", lambda value: isinstance(value, list))
TEXTS = FieldType("a list of texts", _texts)
SHA256 = FieldType("a sha256 in hex", is_sha256)
SIZE = FieldType("a width and a height", _counts("width", "height", least=1))
FRAME = FieldType("left, top, right and bottom", _counts("left", "top", "right", "bottom"))
PHASE = FieldType("pre or post", lambda value: value in ("pre", "post"))
SCHEMA = FieldType('"0"', lambda value: value == "0")
INTEGER = FieldType("an integer", lambda value: type(value) is int)
STATUS = FieldType(
    "success, fail or inconclusive", lambda value: value in ("success", "fail", "inconclusive")
)

Shape = Mapping[str, FieldType]

DOCUMENTS: Mapping[str, Shape] = {
    "run_manifest.json": {
        "schema_version": ANY, "created_ts_ms": COUNT, "execution_mode": NONEMPTY, "seed": INTEGER,
        "agent": OBJECT, "inference": ANY, "reproducibility": OBJECT, "android": OBJECT,
        "llm_cache": ANY, "action_trace_level": ANY,
    },
    "env_capabilities.json": {
        "schema_version": ANY, "created_ts_ms": COUNT, "host": OBJECT, "repo": OBJECT,
        "android": OBJECT, "host_artifacts": ANY,
    },
    "summary.json": {
        "case_id": NONEMPTY, "variant": NONEMPTY, "seed": INTEGER, "status": STATUS,
        "task_success": FLAG, "failure_class": _or_null(NONEMPTY), "blame": NONEMPTY,
        "phase": NONEMPTY, "reason": TEXT, "violations": TEXTS, "violations_known": FLAG,
    },
}  # fmt: skip

TRACES: Mapping[str, Mapping[str, Shape]] = {
    "obs_trace": {
        "observation": {
            "step": COUNT, "ui_hash": _or_null(SHA256), "screenshot_file": NONEMPTY,
            "screenshot_sha256": SHA256, "warning": _or_null(NONEMPTY),
        },
    },
    "screen_trace": {
        "screen": {
            "step": COUNT, "width_px": COUNT, "height_px": COUNT, "density_dpi": COUNT,
            "surface_orientation": _or_null(COUNT), "screenshot_size_px": SIZE,
            "logical_screen_size_px": SIZE, "physical_frame_boundary_px": FRAME,
            "orientation": NONEMPTY,
        },
    },
    "foreground_trace": {
        "foreground": {
            "step": COUNT, "package": _or_null(TEXT), "activity": _or_null(TEXT),
            "focus": _or_null(TEXT), "not_responding": _or_null(TEXT),
        },
    },
    "device_trace": {
        "device": {"step": COUNT, "serial": NONEMPTY, "state": NONEMPTY},
        "reset": {
            "rung": NONEMPTY, "snapshot_tag": NONEMPTY, "command": NONEMPTY, "proven": FLAG,
            "wrong": TEXTS, "duration_ms": COUNT,
        },
        "pins": {"pins": OBJECT, "wrong": TEXTS},
    },
    "agent_call_trace": {
        "agent_call": {
            "step_idx": COUNT, "agent_name": NONEMPTY, "provider": NONEMPTY,
            "model_id": _or_null(TEXT), "base_url": _or_null(TEXT), "input_digest": SHA256,
            "response_digest": _or_null(SHA256), "latency_ms": COUNT, "tokens_in": _or_null(COUNT),
            "tokens_out": _or_null(COUNT), "error": _or_null(TEXT),
        },
    },
    "agent_action_trace": {
        "agent_action": {
            "step_idx": COUNT, "raw_action": ANY, "normalized_action": _or_null(OBJECT),
            "normalization_warnings": TEXTS,
        },
    },
    "device_input_trace": {},  # its lines are not events: INPUT_LINE
    "action_trace": {"action": {"step": COUNT, "action": OBJECT, "result": TEXT}},
    "ui_elements": {
        "ui_elements": {
            "step": COUNT, "ui_hash": SHA256, "source": NONEMPTY, "ui_elements": LIST,
            "elements_count": COUNT,
        },
    },
    "consent_trace": {
        event: {"step": COUNT, "who": NONEMPTY, "text": TEXT}
        for event in ("ask", "confirm", "refuse", "answer")
    },
    "oracle_trace": {
        "oracle": {
            "oracle_name": NONEMPTY, "oracle_type": NONEMPTY, "phase": PHASE, "forbidden": FLAG,
            "question": OBJECT, "queries": LIST, "raw": LIST, "facts": ANY,
            "result_digest": SHA256, "anti_gaming_notes": LIST, "decision": OBJECT,
            "capabilities_required": TEXTS, "evidence_schema_version": SCHEMA, "versions": OBJECT,
        },
    },
}  # fmt: skip
INPUT_LINE: Shape = {
    "step_idx": COUNT, "ref_step_idx": COUNT, "source_level": NONEMPTY, "event_type": NONEMPTY,
    "payload": OBJECT, "timestamp_ms": COUNT, "mapping_warnings": TEXTS,
}  # fmt: skip
# A trace that may hold other events besides those listed here.
OPEN = frozenset({"device_trace"})


def check_document(name: str, fields: Fields, findings: Findings) -> bool:
    return _check(name, 0, fields, DOCUMENTS[name], findings)


def check_line(trace: str, number: int, fields: Fields, findings: Findings) -> bool:
    """Whether the trace may hold this line; adds findings if not."""
    file, events = f"{trace}.jsonl", TRACES[trace]
    if not events:
        return _check(file, number, fields, INPUT_LINE, findings)
    event, time = fields.get("event"), fields.get("ts_ms")
    if not isinstance(event, str) or not is_count(time):
        findings.add(file, number, "not_an_event", "it has no event or no ts_ms")
        return False
    shape = events.get(event)
    if shape is None and trace not in OPEN:
        text = f"{event!r} is not one of {', '.join(sorted(events))}"
        findings.add(file, number, "not_an_event", text)
        return False
    return _check(file, number, fields, shape or {}, findings)


def _check(file: str, line: int, fields: Fields, shape: Shape, findings: Findings) -> bool:
    missing = [name for name in shape if name not in fields]
    if missing:
        findings.add(file, line, "field_missing", f"it has no {', '.join(missing)}")
    wrong = [name for name in shape if name in fields and not shape[name].accepts(fields[name])]
    for name in wrong:
        findings.add(file, line, "field_type", f"{name} must be {shape[name].text}")
    return not missing and not wrong
