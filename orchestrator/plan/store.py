"""plan.json: written once, durably; read back only if nothing in it has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import UsageError
from ..events.bulk import bulk
from ..events.canonical import digest
from .plan import SCHEMA, Plan

FILE = "plan.json"
_ADAPTER = TypeAdapter(Plan)


def write_plan(path: Path, plan: Plan) -> None:
    """Whole or not at all, and on the disk when this returns."""
    text = json.dumps(plan.as_json(), indent=1, sort_keys=True, ensure_ascii=False)
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_plan(path: Path) -> Plan:
    """UsageError, in one sentence, where it is no plan or not the one that was written."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise UsageError(f"cannot read the plan {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(body, dict) or "digest" not in body:
        raise UsageError(f"{path} is no plan: it has no digest")
    with bulk():
        return _checked(path, body)


def _checked(path: Path, body: dict[str, Any]) -> Plan:
    said = body.pop("digest")
    version = body.get("schema_version")
    if version != SCHEMA:
        raise UsageError(f"{path} has schema version {version!r}; this emufarm reads {SCHEMA}")
    try:
        plan = _ADAPTER.validate_python({k: v for k, v in body.items() if k != "schema_version"})
    except ValidationError as error:
        _unchanged(path, said, body)
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path} is no plan: {place}: {first['msg']}") from error
    if plan.digest != said:  # of a long plan it takes its time, so of the body only where it must
        _unchanged(path, said, body)
        raise UsageError(f"{path} is no plan: its values are not of a plan's kinds")
    return plan


def _unchanged(path: Path, said: str, body: dict[str, Any]) -> None:
    found = digest(body)
    if said != found:
        raise UsageError(f"{path} was changed after it was written: {said} is not {found}")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
