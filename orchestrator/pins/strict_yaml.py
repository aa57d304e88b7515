"""Reads profile and agent card files strictly, and puts their mistakes into one sentence."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ..errors import UsageError


class _UniqueKeyLoader(yaml.SafeLoader):
    """Safe YAML that refuses a repeated key; PyYAML would keep the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            value = self.construct_object(key, deep=True)
            if not isinstance(value, Hashable) or value in seen:
                text = f"{value!r} is written twice" if value else "a key is not a plain word"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            seen.add(value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> object:
    """Raises UsageError where the file cannot be read."""
    try:
        # _Loader is a SafeLoader.
        return yaml.load(path.read_text("utf-8"), _UniqueKeyLoader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path}{line}: {error.problem}") from error
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def validation_message(error: ValidationError, what: str) -> str:
    """All mistakes of a profile or card in one line, each with its key."""
    mistakes = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"]) or "the file"
        hint = " (put it in quotes)" if one["type"] == "string_type" else ""
        message = f"is not a key of {what}" if one["type"] == "extra_forbidden" else one["msg"]
        mistakes.append(f"{where}: {message}{hint}")
    return "; ".join(mistakes)
