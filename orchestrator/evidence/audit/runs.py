"""Audits a whole run, or a copy of one: its two documents and every bundle below it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import attempt
from ..summary import NAME as SUMMARY
from .bundles import check_bundle
from .reader import EvidenceFolder
from .rules import Finding, Findings
from .run_documents import check_run_documents
from .state import RunFacts

EPISODES = "episodes"
MAX_FINDINGS = 100_000  # of one run


@dataclass(frozen=True)
class Audited:
    bundles: int
    events: int
    findings: list[Finding]


def audit_run(run: Path) -> list[Finding]:
    return audit(run).findings


def audit(run: Path) -> Audited:
    """Apply every rule to a run; to a folder that is a bundle, the rules of bundles."""
    findings = Findings()
    if is_bundle(run):
        events = check_bundle(EvidenceFolder(run, findings), RunFacts())
        return Audited(1, events, findings.found)
    facts = check_run_documents(EvidenceFolder(run, findings))
    found, bundles, events = findings.found, 0, 0
    for folder in bundles_below(run, findings):
        one = Findings()
        events += check_bundle(EvidenceFolder(folder, one), facts)
        found += one.below(folder.relative_to(run).as_posix())[: MAX_FINDINGS - len(found)]
        bundles += 1
    return Audited(bundles, events, found)


def bundles_below(run: Path, findings: Findings) -> Iterator[Path]:
    """The run's bundles in order, following no link.

    A bundle is a folder with a summary.json or an attempt.json, and any folder in a bundle's place.
    """
    waiting = [run]
    while waiting:
        folder = waiting.pop()
        below, names = [], set()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        below.append(Path(entry.path))
        except OSError as error:
            name = folder.relative_to(run).as_posix()
            findings.add(name, 0, "not_plain", f"it cannot be read: {error.strerror}")
        if SUMMARY in names or attempt.NAME in names or _is_place(folder.relative_to(run)):
            yield folder
        else:
            waiting += sorted(below, reverse=True)


def _is_place(folder: Path) -> bool:
    """Whether it is episodes/<episode>/<bundle>; a hidden one is still being written."""
    parts = folder.parts
    return len(parts) == 3 and parts[0] == EPISODES and not parts[2].startswith(".")


def is_bundle(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SUMMARY, attempt.NAME))
