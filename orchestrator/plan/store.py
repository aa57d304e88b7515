"""Writes plan.json durably, and reads it back only if its digest still matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import UsageError
from ..events.canonical import digest
from ..events.interpreter import gc_paused
from ..files import write_atomically
from .plan import SCHEMA, Plan

FILE = "plan.json"
_ADAPTER = TypeAdapter(Plan)


def write_plan(path: Path, plan: Plan) -> None:
    """Writes the file atomically; it is on the disk when this returns."""
    text = json.dumps(plan.as_json(), indent=1, sort_keys=True, ensure_ascii=False)
    write_atomically(path, [text.encode(), b"\n"])


def read_plan(path: Path) -> Plan:
    """Raises UsageError where the file is not a plan, or was changed after it was written."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise UsageError(f"cannot read the plan {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(body, dict) or "digest" not in body:
        raise UsageError(f"{path} is not a plan: it has no digest")
    with gc_paused():
        return _checked(path, body)


def _checked(path: Path, body: dict[str, Any]) -> Plan:
    expected = body.pop("digest")
    version = body.get("schema_version")
    if version != SCHEMA:
        raise UsageError(f"{path} has schema version {version!r}; this emufarm reads {SCHEMA}")
    try:
        plan = _ADAPTER.validate_python({k: v for k, v in body.items() if k != "schema_version"})
        if plan.digest == expected:
            return plan
        problem = "some values have the wrong type"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    # Hashing a long body takes time, so it is done only here.
    if (found := digest(body)) != expected:
        raise UsageError(
            f"{path} was changed after it was written: its digest is {found}, not {expected}"
        )
    raise UsageError(f"{path} is not a plan: {problem}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")
