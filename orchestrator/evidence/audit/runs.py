"""A whole run, or a copy of one: its two documents and every bundle below it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...pins.image_lock import marker
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from .. import attempt
from ..summary import NAME as SUMMARY
from .bundles import hold
from .facts import hold as hold_facts
from .finding import Finding, Findings
from .reading import Folder
from .said import LEVELS
from .seen import RunFacts
from .shapes import document_holds

EPISODES = "episodes"
MOST = 100_000  # findings of one run


@dataclass(frozen=True)
class Audited:
    bundles: int
    events: int
    findings: list[Finding]


def audit_run(run: Path) -> list[Finding]:
    return audit(run).findings


def audit(run: Path) -> Audited:
    """Every rule, on all that is there; of a bundle by itself, those of bundles."""
    findings = Findings()
    if is_bundle(run):
        return Audited(1, hold(Folder(run, findings), RunFacts()), findings.found)
    facts = _facts(Folder(run, findings))
    found, bundles, events = findings.found, 0, 0
    for folder in bundles_below(run, findings):
        one = Findings()
        events += hold(Folder(folder, one), facts)
        found += one.below(folder.relative_to(run).as_posix())[: MOST - len(found)]
        bundles += 1
    return Audited(bundles, events, found)


def bundles_below(run: Path, findings: Findings) -> Iterator[Path]:
    """Every folder with a summary.json or an attempt.json, and whatever stands in a bundle's
    place; in order, following no link."""
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
    """episodes/<episode>/<bundle>; a hidden one is still being written."""
    parts = folder.parts
    return len(parts) == 3 and parts[0] == EPISODES and not parts[2].startswith(".")


def is_bundle(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SUMMARY, attempt.NAME))


def _facts(folder: Folder) -> RunFacts:
    """What the run's two documents say, and findings where they do not."""
    facts = RunFacts()
    run = folder.document(MANIFEST)
    if run is not None and document_holds(MANIFEST, run, folder.findings):
        level, image = run["action_trace_level"], _image(run["android"].get("image_lock"))
        seeds = run["reproducibility"].get("case_seeds")
        if level not in LEVELS:
            folder.findings.add(MANIFEST, 0, "trace_level", f"it is none of {', '.join(LEVELS)}")
            level = facts.level
        if image is None:
            text = "android.image_lock must name snapshot, boot_id, fingerprint and nonce"
            folder.findings.add(MANIFEST, 0, "field_type", text)
        if not isinstance(seeds, dict):
            text = "reproducibility.case_seeds must name each episode's seed"
            folder.findings.add(MANIFEST, 0, "field_type", text)
            seeds = None
        facts = RunFacts(level, image, seeds)
        if not folder.findings.found:  # what is broken is told once
            hold_facts(MANIFEST, run, folder.findings)
    host = folder.document(CAPABILITIES)
    if host is not None and document_holds(CAPABILITIES, host, folder.findings):
        hold_facts(CAPABILITIES, host, folder.findings)
    return facts


def _image(lock: object) -> dict[str, str] | None:
    """What a proven reset shows, by the lock; None where the lock does not say."""
    names = ("snapshot", "boot_id", "fingerprint", "nonce")
    told = lock if isinstance(lock, dict) else {}
    parts = [told[name] for name in names if isinstance(told.get(name), str)]
    if len(parts) < len(names) or not all(part.isascii() for part in parts):
        return None
    tag, boot_id, fingerprint, nonce = parts
    return {
        "snapshot_tag": tag,
        "boot_id": boot_id,
        "fingerprint": fingerprint,
        "marker": marker(tag, nonce),
    }
