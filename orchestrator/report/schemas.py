"""Generates the JSON Schemas of the farm's documents from the models that read them.

A schema's file name has the version of its documents. `docs/schema/` holds all schemas, and a test
compares those files with this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from ..cases.model import Case
from ..errors import UsageError
from ..evidence import attempt, manifest
from ..plan import plan
from . import build, model

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHA256 = {"pattern": "^[0-9a-f]{64}$", "type": "string"}
CASE_VERSION = 1
ATTEMPT_VERSION = 3

Schema = dict[str, Any]


@dataclass(frozen=True)
class Described:
    """A kind of document."""

    file: str  # the name of such a document
    about: str
    version: int
    generate: Callable[[], Schema]


class _Plain(GenerateJsonSchema):
    """Generates no title for a field: it would only repeat the field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _of(kind: Any) -> Schema:
    return TypeAdapter(kind).json_schema(by_alias=True, schema_generator=_Plain)


def _case() -> Schema:
    schema = _of(Case)
    for name in ("SetupStep", "SimpleQuestion", "Question", "Forbidden"):
        _one_of(schema["$defs"][name])
    return schema


def _one_of(schema: Schema) -> None:
    """Exactly one of the kinds, which are all null by default, must be given."""
    kinds = [
        name
        for name, each in schema["properties"].items()
        if any("$ref" in choice for choice in each.get("anyOf", ()))
    ]
    given = {"not": {"type": "null"}}
    schema["oneOf"] = [{"properties": {kind: given}, "required": [kind]} for kind in kinds]


def _plan() -> Schema:
    schema = _of(plan.Plan)
    own = {"schema_version": {"const": plan.SCHEMA}, "digest": SHA256}
    schema["properties"] |= own
    schema["required"] += list(own)
    schema["properties"]["profile_digest"] = SHA256
    schema["$defs"]["PlannedCase"]["properties"]["digest"] = SHA256
    return schema


def _closed(schema: Schema) -> Schema:
    """Allow no other fields than those in the schema."""
    for each in _objects(schema):
        if "properties" in each and each.get("type") == "object":
            each["additionalProperties"] = False
    return schema


DOCUMENTS = {
    "attempt": Described(
        attempt.NAME,
        "The record of one attempt, in its bundle.",
        ATTEMPT_VERSION,
        lambda: _of(attempt.AttemptRecord),
    ),
    "case": Described(
        "case.yaml",
        "A case as a person writes it. `emufarm cases list` also checks what a schema cannot "
        "(names that no param has, scripts that no agent can play).",
        CASE_VERSION,
        _case,
    ),
    "manifest": Described(
        manifest.NAME,
        "Every file of a sealed bundle.",
        manifest.SCHEMA,
        lambda: _of(manifest.Manifest),
    ),
    "plan": Described(
        "plan.json",
        "The frozen list of a run's episodes, with the cases themselves.",
        plan.SCHEMA,
        _plan,
    ),
    "report": Described(
        build.NAME,
        "The results of a run; docs/numbers.md explains how to read each number.",
        model.SCHEMA,
        lambda: _closed(_of(model.Report)),
    ),
}


def schema(name: str) -> Schema:
    """The schema of one kind of document; UsageError if there is no such kind."""
    described = _described(name)
    schema = described.generate()
    for each in _objects(schema):
        # The models reject keys that match no pattern.
        if "patternProperties" in each:
            each.setdefault("additionalProperties", False)
    head = {
        "$schema": DIALECT,
        "$id": file_name(name),
        "title": f"emufarm {described.file}, version {described.version}",
        "description": described.about,
    }
    schema.pop("title", None)
    schema.pop("description", None)
    parts = schema.pop("$defs", {})
    return {**head, **schema, "$defs": parts}


def file_name(name: str) -> str:
    return f"{name}.v{_described(name).version}.json"


def text(name: str) -> str:
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> list[Path]:
    """Write every schema into its file; those of earlier versions are left as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in DOCUMENTS:
        path = folder / file_name(name)
        path.write_text(text(name), encoding="utf-8")
        paths.append(path)
    return paths


def _described(name: str) -> Described:
    if name not in DOCUMENTS:
        raise UsageError(f"there is no schema {name!r}; choose one of {', '.join(DOCUMENTS)}")
    return DOCUMENTS[name]


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in list(node.values()):
            yield from _objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from _objects(child)
