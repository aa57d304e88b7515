"""Turns a case file's mistakes into sentences with path, line and what to write instead."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import UsageError, did_you_mean, printable
from .model import Case
from .oracles import COLUMN, OPERATION
from .strict import NAME
from .yaml_document import Document, Location

# What each pattern of the model asks for.
PATTERNS = {
    COLUMN: "write a column's name: letters, digits and _",
    OPERATION: "write an operation as `cmd appops` names it, like CAMERA",
    NAME: "write lower-case letters, digits and _, a letter first",
    r"^/": "write a path that begins with /",
    r"^content://": "write an address that begins with content://",
    r"^[0-9a-f]{64}$": "write 64 hex digits",
}
TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list of two",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "none_required": "null",
}


MOST = 100  # mistakes of one kind that are looked for in one file; each costs a search for its line
_LONGEST = 600  # characters of one mistake


@dataclass(frozen=True, order=True)
class Mistake:
    path: Path
    line: int
    text: str  # what is wrong; what to write instead

    def __str__(self) -> str:
        text = self.text if len(self.text) <= _LONGEST else f"{self.text[: _LONGEST - 3]}..."
        return printable(f"{self.path}:{self.line}: {text}")


class CaseErrors(UsageError):
    """Every mistake in every case file that was read."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(sorted(set(mistakes)))
        count = len(self.mistakes)
        head = "a mistake in the cases" if count == 1 else f"{count} mistakes in the cases"
        super().__init__("\n".join([f"{head}:", *map(str, self.mistakes)]))


def model_mistakes(path: Path, document: Document, error: ValidationError) -> list[Mistake]:
    """One mistake for each location, also where several types of a union failed there."""
    places: dict[Location, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False)[:MOST]:
        place = document.known(detail["loc"])
        if detail["type"] == "missing":
            place = (*place, detail["loc"][-1])
        places.setdefault(place, []).append(detail)
    return [
        Mistake(path, document.line(place), _sentence(place, details))
        for place, details in places.items()
    ]


def _sentence(place: Location, details: list[ErrorDetails]) -> str:
    name = ".".join(map(str, place)) or "the file"
    detail = details[0]
    kind, context = detail["type"], detail.get("ctx", {})
    unfit = f"{name}: {_quote(detail['input'])} does not fit"
    if len(details) > 1:
        wanted = sorted({TYPES[d["type"]] for d in details if d["type"] in TYPES})
        return f"{unfit}; write {' or '.join(wanted)}"
    if kind == "missing":
        return f"{name} is missing; write `{place[-1]}:`"
    if kind == "extra_forbidden":
        return f"{name} is an unknown key; {_known_key(detail['loc'])}"
    if kind in TYPES:
        quotes = ", in quotes" if kind == "string_type" and detail["input"] is not None else ""
        return f"{unfit}; write {TYPES[kind]}{quotes}"
    if kind == "string_pattern_mismatch":
        hint = PATTERNS.get(str(context.get("pattern")), f"it must match {context.get('pattern')}")
        return f"{unfit}; {hint}"
    if kind == "literal_error":
        return f"{unfit}; write {context['expected']}"
    if kind in ("too_short", "string_too_short"):
        return f"{name} is too short; write at least {context['min_length']}"
    if kind == "value_error":
        return f"{name}: {context.get('error', detail['msg'])!s}"
    message = detail["msg"].removeprefix("Input ")
    return f"{name}: {message}" if kind in ("param", "scripts") else f"{name} {message}"


def _quote(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_key(location: Sequence[str | int]) -> str:
    keys = sorted(_keys_at(location[:-1]))
    return did_you_mean(str(location[-1]), keys, f"write one of {', '.join(keys)}")


def _keys_at(location: Sequence[str | int]) -> set[str]:
    """The keys allowed at a location, which names branches of unions as well as the file's keys."""
    models: list[type[BaseModel]] = [Case]
    parts = [part for part in location if isinstance(part, str)]
    while parts:
        part = parts.pop(0)
        holders = [model for model in models if part in _keys(model)]
        fields = [_keys(model)[part] for model in holders]
        models = [model for field in fields for model in _models(field)] or holders or models
        if any(get_origin(field) is dict for field in fields):
            parts = parts[1:]  # a name that the file's author chose
    return {key for model in models for key in _keys(model)}


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (list, dict, tuple, Union, types.UnionType, Annotated):
        return [model for each in get_args(annotation) for model in _models(each)]
    return []
