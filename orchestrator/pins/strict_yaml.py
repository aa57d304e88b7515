"""Reads profile and agent card files strictly, and puts their mistakes into one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ..cases.yaml_document import BadDocument, read_document
from ..errors import UsageError

M = TypeVar("M", bound=BaseModel)


def read_model(path: Path, model: type[M], what: str) -> M:
    """The model in a YAML file; `what` names it in messages. Raises UsageError."""
    try:
        document = read_document(path.read_text("utf-8"), what)
        for key, line in document.repeated():
            raise BadDocument(line, f"{key!r} is written twice")
        return model.model_validate(document.data)
    except BadDocument as error:
        raise UsageError(f"{path}:{error.line}: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {_mistakes(error, what)}") from error
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _mistakes(error: ValidationError, what: str) -> str:
    """All mistakes in one line, each with its key."""
    mistakes = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"]) or "the file"
        hint = " (put it in quotes)" if one["type"] == "string_type" else ""
        message = f"is not a key of {what}" if one["type"] == "extra_forbidden" else one["msg"]
        mistakes.append(f"{where}: {message}{hint}")
    return "; ".join(mistakes)
