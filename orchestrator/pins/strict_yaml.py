"""A file that a person wrote, read strictly: what is wrong with it is one sentence."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ..errors import UsageError


class _UniqueKeyLoader(yaml.SafeLoader):
    """Safe YAML in which a key written twice is a mistake, not the last one's victory."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            value = self.construct_object(key, deep=True)
            if not isinstance(value, Hashable) or value in seen:
                text = f"{value!r} is written twice" if value else "a key is no plain word"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            seen.add(value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> object:
    """UsageError, in one sentence, where it cannot be read."""
    try:
        # _Loader is a SafeLoader.
        return yaml.load(path.read_text("utf-8"), _UniqueKeyLoader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path}{line}: {error.problem}") from error
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def validation_message(error: ValidationError, what: str) -> str:
    """Every mistake of a profile or a card at once, each by its key."""
    mistakes = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"]) or "the file"
        hint = " (put it in quotes)" if one["type"] == "string_type" else ""
        told = f"is not a key of {what}" if one["type"] == "extra_forbidden" else one["msg"]
        mistakes.append(f"{where}: {told}{hint}")
    return "; ".join(mistakes)
