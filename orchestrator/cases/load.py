"""Loads all cases below a folder, or reports every mistake in every case file at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..errors import UsageError
from ..events.canonical import digest
from .mistakes import CaseErrors, Mistake, model_mistakes
from .model import Case
from .render import CaseBroken, render
from .rules import rule_mistakes
from .site import read_site
from .yaml_document import BadDocument, read_document

FILE = "case.yaml"
MAX_FILE = 1 << 20
_EXAMPLE_SITE = "http://10.0.2.2:8080"


@dataclass(frozen=True)
class LoadedCase:
    """A case, its folder and its site, as read from disk."""

    case: Case
    path: Path  # the folder
    site: dict[str, str]  # path -> base64 (site.py)
    digest: str  # over case and site


def case_digest(case: Case, site: dict[str, str]) -> str:
    return digest({"case": case.model_dump(mode="json", by_alias=True), "site": site})


def load_cases(folder: Path) -> list[LoadedCase]:
    """Every case below the folder, sorted by id. Raises CaseErrors with every mistake."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name one that contains cases")
    files = case_files(folder)
    if not files:
        raise UsageError(f"there is no {FILE} below {folder}; `emufarm cases new ID` writes one")
    loaded: list[LoadedCase] = []
    mistakes: list[Mistake] = []
    taken: dict[str, Path] = {}
    for path in files:
        try:
            loaded.append(_load(path, taken))
        except CaseErrors as errors:
            mistakes += errors.mistakes
    if mistakes:
        raise CaseErrors(mistakes)
    return sorted(loaded, key=lambda each: each.case.id)


def case_files(folder: Path) -> list[Path]:
    """Every case.yaml below the folder. A case's own folder is not searched for further cases."""
    found: list[Path] = []

    def refuse(error: OSError) -> None:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error

    for root, folders, files in os.walk(folder, onerror=refuse):
        if FILE in files:
            found.append(Path(root) / FILE)
            folders.clear()
    return sorted(found)


def _load(path: Path, taken: dict[str, Path]) -> LoadedCase:
    """The case, whose id is added to those that are taken. Raises CaseErrors."""
    site, mistakes = read_site(path.parent)
    try:
        document = read_document(_read_text(path), "a case")
    except BadDocument as error:
        raise CaseErrors([*mistakes, Mistake(path, error.line, error.text)]) from error
    mistakes += rule_mistakes(path, document, site)
    id = document.data.get("id") if isinstance(document.data, dict) else None
    if id and isinstance(id, str) and taken.setdefault(id, path) is not path:
        text = f"the id {id!r} is taken by {taken[id]}; choose another, and rename the folder"
        mistakes.append(Mistake(path, document.line(("id",)), text))
    try:
        case = Case.model_validate(document.data)
        if not mistakes:
            # Only rendering shows mistakes such as adding words or an impossible date.
            for variant in case.variants:
                render(case, variant, 0, _EXAMPLE_SITE, files=site)
            return LoadedCase(case, path.parent, site, case_digest(case, site))
    except ValidationError as error:
        mistakes += model_mistakes(path, document, error)
    except CaseBroken as broken:
        text = f"{broken}; check what the params become"
        lines = (line for _, value, line in document.scalars() if value == broken.template)
        mistakes.append(Mistake(path, next(lines, document.line(())), text))
    raise CaseErrors(mistakes)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadDocument(1, f"cannot be read: {error.strerror}; check its permissions") from error
    if len(data) > MAX_FILE:
        raise BadDocument(1, f"larger than {MAX_FILE >> 20} MB; make it smaller")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadDocument(line, "not UTF-8; save the file as UTF-8") from error
