"""Values at dotted paths of a JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..cases.oracles import Scalar
from ..events.canonical import Json


def json_facts(data: bytes | str, paths: Mapping[str, Scalar]) -> dict[str, Json] | None:
    """For each path a list with its value, empty if there is no plain value; None if the data is
    not JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return {path: _at(document, path) for path in paths}


def same(found: list[Scalar], wanted: Scalar) -> bool:
    """Equality that distinguishes 1 from true."""
    return found == [wanted] and isinstance(found[0], bool) == isinstance(wanted, bool)


def _at(document: Any, path: str) -> list[Scalar]:
    for part in path.split("."):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdecimal() and int(part) < len(document):
            document = document[int(part)]
        else:
            return []
    plain = document is None or isinstance(document, str | int | float)
    finite = not isinstance(document, float) or math.isfinite(document)
    return [document] if plain and finite else []
