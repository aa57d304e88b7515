"""What does a run's folder hold, and what vouches for each file?

    journal/NNNNNN.jsonl                       its own chain
    episodes/<episode>/attempt-<n>/            its manifest, whose digest is in the journal
    episodes/<episode>/fenced-<hash>/          the same; never scored
    episodes/<episode>/aside-<n>-<digest>/     its own name; in no journal, so outside the proof
    report.json                                computed again
    worker.token, admin.token                  nothing: secrets of a served run, outside the proof
    everything else                            the seal: its sha256 is in the journal's last line

So a file that stands nowhere in this table was added, and one that the seal or a manifest names
and that is not here was removed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ...coordinator.chain import FOLDER as JOURNAL
from ...coordinator.store import EPISODES, INCOMING
from ...coordinator.transitions import DeviceStarted, Event
from ...pins.files import file_sha256
from ..build import NAME as REPORT

SECRETS = ("worker.token", "admin.token")
_SEGMENT = re.compile(r"\d{6}\.jsonl")
_BUNDLE = re.compile(r"(attempt-\d+|fenced-[0-9a-f]{16}|aside-\d+-[0-9a-f]{16})")
# Made whenever a run goes on, and empty where nobody needed them.
_FOLDERS = frozenset({JOURNAL, EPISODES, INCOMING, "logs", "staging"})
_SLOT = re.compile(r"staging/(slot-\d+|salvaged-\d+\.slot-\d+)")


@dataclass
class Holding:
    """A run's folder, sorted by what vouches for it; names are paths from the run's folder."""

    documents: list[str] = field(default_factory=list)  # what a seal covers
    segments: list[str] = field(default_factory=list)
    bundles: list[str] = field(default_factory=list)  # folders
    outside: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)  # but those that every run has
    strange: list[str] = field(default_factory=list)  # a sentence each


def documents(run: Path) -> dict[str, str]:
    """What a seal must name: every file that nothing else vouches for, with its sha256."""
    return {name: file_sha256(run / name) for name in hold(run).documents}


def reported(events: Iterable[Event]) -> dict[str, dict[str, Any]]:
    """What each device last said of itself."""
    return {event.device: event.facts for event in events if isinstance(event, DeviceStarted)}


def hold(run: Path) -> Holding:
    """Everything in the folder, outside the bundles; no link is followed."""
    found = Holding()
    for name, status in _walk(run, ""):
        parts = name.split("/")
        if stat.S_ISDIR(status.st_mode):
            if parts[0] == EPISODES and len(parts) == 3:
                _sort_bundle(found, name, parts[2])
            elif name not in _FOLDERS and not _SLOT.fullmatch(name):
                found.folders.append(name)
        elif not stat.S_ISREG(status.st_mode):
            found.strange.append(f"{name}: is not a plain file")
        elif parts[0] in (JOURNAL, EPISODES, INCOMING):
            if parts[0] == JOURNAL and len(parts) == 2 and _SEGMENT.fullmatch(parts[1]):
                found.segments.append(name)
            else:
                found.strange.append(f"{name}: nothing accounts for this file")
        elif name in SECRETS:
            found.outside.append(name)
        elif name != REPORT:
            found.documents.append(name)
    return found


def _sort_bundle(found: Holding, name: str, own: str) -> None:
    if not _BUNDLE.fullmatch(own):
        found.strange.append(f"{name}: nothing accounts for this folder")
        return
    found.bundles.append(name)
    if own.startswith("aside-"):
        found.outside.append(name)


def unaccounted(
    found: Holding, sealed: Collection[str], bundles: Collection[str], episodes: Iterable[str]
) -> list[str]:
    """What was added to the folder, by the seal's files, the journal's bundles, the plan."""
    problems = list(found.strange)
    problems += [
        f"{name}: nothing accounts for this file" for name in found.documents if name not in sealed
    ]
    problems += [
        f"{name}: no line of the journal names this bundle"
        for name in found.bundles
        if name not in bundles and name not in found.outside
    ]
    # An episode's folder is made before its first bundle is known to be whole.
    homes = {f"{EPISODES}/{id}" for id in episodes}
    homes |= {str(parent) for name in sealed for parent in PurePosixPath(name).parents}
    return problems + [
        f"{name}: nothing accounts for this folder" for name in found.folders if name not in homes
    ]


def _walk(run: Path, below: str) -> Iterator[tuple[str, os.stat_result]]:
    """Folders and files in the order of their names; a bundle's inside is its manifest's."""
    with os.scandir(run / below) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{below}/{name}" if below else name
        status = (run / path).lstat()
        yield path, status
        inside = path.startswith(f"{EPISODES}/") and path.count("/") == 2
        if stat.S_ISDIR(status.st_mode) and not inside:
            yield from _walk(run, path)
