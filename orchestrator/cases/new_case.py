"""Writes a new case from template.yaml (`emufarm cases new`)."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import UsageError
from .load import FILE
from .mistakes import PATTERNS
from .strict import NAME

TEMPLATE = Path(__file__).with_name("template.yaml")
TEMPLATE_ID = "new_case"


def write_new(folder: Path, id: str) -> Path:
    """Writes folder/id/case.yaml and returns its path. Existing files are never changed."""
    if not re.fullmatch(NAME, id):
        raise UsageError(f"{id!r} is not an id; {PATTERNS[NAME]}")
    home = folder / id
    text = TEMPLATE.read_text(encoding="utf-8").replace(f"id: {TEMPLATE_ID}", f"id: {id}", 1)
    try:
        home.mkdir(parents=True)
        (home / FILE).write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise UsageError(f"{error.filename} exists already; choose another id") from error
    except OSError as error:
        raise UsageError(f"cannot write {home}: {error.strerror}") from error
    return home / FILE
