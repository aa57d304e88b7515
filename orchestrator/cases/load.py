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
from .yaml_document import BadDocument, Document, read_document

FILE = "case.yaml"
MAX_FILE = 1 << 20
TRIAL_SITE = "http://10.0.2.2:8080"


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
    loaded: list[LoadedCase] = []
    mistakes: list[Mistake] = []
    files = case_files(folder)
    if not files:
        raise UsageError(f"there is no {FILE} below {folder}; `emufarm cases new ID` writes one")
    ids: dict[str, Path] = {}
    for path in files:
        case, found, id, line = _load(path)
        mistakes += found
        if id and id in ids:
            text = f"the id {id!r} is taken by {ids[id]}; choose another, and rename the folder"
            mistakes.append(Mistake(path, line, text))
        ids.setdefault(id, path)
        if case is not None:
            loaded.append(case)
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


def _load(path: Path) -> tuple[LoadedCase | None, list[Mistake], str, int]:
    """The case, its mistakes, and its id with the id's line."""
    site, mistakes = read_site(path.parent)
    try:
        document = read_document(_read_text(path))
    except BadDocument as error:
        return None, [*mistakes, Mistake(path, error.line, error.text)], "", 1
    mistakes += rule_mistakes(path, document, site)
    case: Case | None = None
    try:
        case = Case.model_validate(document.data)
    except ValidationError as error:
        mistakes += model_mistakes(path, document, error)
    if case is not None and not mistakes:
        mistakes += _render_mistakes(path, document, case, site)
    id = document.data.get("id") if isinstance(document.data, dict) else None
    id = id if isinstance(id, str) else ""
    if case is None or mistakes:
        return None, mistakes, id, document.line(("id",))
    loaded = LoadedCase(case, path.parent, site, case_digest(case, site))
    return loaded, [], id, document.line(("id",))


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


def _render_mistakes(
    path: Path, document: Document, case: Case, site: dict[str, str]
) -> list[Mistake]:
    """Mistakes that only rendering shows, such as adding words or an impossible date."""
    try:
        for variant in case.variants:
            render(case, variant, 0, TRIAL_SITE, files=site)
    except CaseBroken as broken:
        return [Mistake(path, document.line(()), f"{broken}; check what the params become")]
    return []
