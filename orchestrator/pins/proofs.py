"""Proofs: which cases `emufarm cases check` has proven or refuted on which image.

    runs/proofs.json                           {image digest: {case digest: proven}}
    runs/<run>/run_manifest.json               reproducibility.proven: {case: proven}

True: the controls passed on this image. False: one of them refuted the case. Unchecked cases are in
neither file. A run's manifest keeps the proofs that were known when it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import UsageError
from ..files import read_json, write_json
from ..plan.plan import PlannedCase
from .run_manifest import MANIFEST

NAME = "proofs.json"

Proven = dict[str, bool]  # by case; unchecked cases are missing


def record(path: Path, image: str, proven: Mapping[str, bool]) -> None:
    """Adds the results of the controls, by case digest, to the file."""
    known = _read(path)
    known.setdefault(image, {}).update(proven)
    write_json(path, known)


def proven(path: Path, image: str, cases: Iterable[PlannedCase]) -> Proven:
    """The proofs of the planned cases, by id, on this image; a changed case has none."""
    known = _read(path).get(image, {})
    return {case.id: known[case.digest] for case in cases if case.digest in known}


def recorded(run: Path) -> Proven:
    """The proofs in a run's manifest, so that a resumed run judges by the same ones."""
    manifest = run / MANIFEST
    if not manifest.exists():
        return {}
    try:
        return dict(read_json(manifest)["reproducibility"].get("proven", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{manifest} is not a run's manifest: {error!r}") from error


def _read(path: Path) -> dict[str, dict[str, bool]]:
    if not path.exists():
        return {}
    try:
        known: dict[str, dict[str, bool]] = read_json(path)
        if not all(isinstance(cases, dict) for cases in known.values()):
            raise ValueError("the proofs of an image are not an object")
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is not a file of proofs: {error}; remove it") from error
    return known
