"""Which cases are proven on which image? `cases check` says, and every run takes it along.

    runs/proofs.json                           {image digest: {case digest: proven}}
    runs/<run>/run_manifest.json               reproducibility.proven: {case: proven}

True: its controls passed on this image; False: one of them refuted it. A case that nobody looked at
is in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import UsageError
from ..plan.plan import PlannedCase
from .files import read_json, write_json
from .run_manifest import MANIFEST

NAME = "proofs.json"

Proven = dict[str, bool]  # by case; without those that nobody looked at


def record(path: Path, image: str, proven: Mapping[str, bool]) -> None:
    """What the controls said of each case, by its digest, added to what is known."""
    known = _read(path)
    known.setdefault(image, {}).update(proven)
    write_json(path, known)


def proven(path: Path, image: str, cases: Iterable[PlannedCase]) -> Proven:
    """Of each planned case, as it is now, on this image."""
    known = _read(path).get(image, {})
    return {case.id: known[case.digest] for case in cases if case.digest in known}


def recorded(run: Path) -> Proven:
    """As it was when the run began: a resumed run judges by the same proofs."""
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
            raise ValueError("an image's proofs are no object")
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is no list of proofs: {error}; remove it") from error
    return known
