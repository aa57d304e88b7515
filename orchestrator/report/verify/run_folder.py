"""Sorts the files of a run's folder by what proves them: journal chain, manifest or seal.

    journal/NNNNNN.jsonl                       the journal's hash chain
    episodes/<episode>/attempt-<n>-c<claim>/   its manifest, whose digest is in the journal
    episodes/<episode>/fenced-<hash>-c<claim>/ the same; never scored
    report.json                                computed again
    secrets/                                   nothing: those of a served run, outside the proof
    everything else                            the seal: its sha256 is in the journal's last line

Outside the proof is what coordinators before the last one left without a line in the journal:
bundles, and what was arriving; and a claim after the last segment, of a coordinator that was killed
before it wrote anything.

A file that is not in this table was added; a file that the seal or a manifest names and that does
not exist was removed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ...coordinator.bundle_store import EPISODES, INCOMING
from ...coordinator.chain import FOLDER as JOURNAL
from ...coordinator.claims import FOLDER as CLAIMS
from ...coordinator.transitions import DeviceStarted, Event
from ...files import file_sha256
from ..build import NAME as REPORT

SECRETS = "secrets"
_SEGMENT = re.compile(r"\d{6}\.jsonl")
_BUNDLE = re.compile(r"(?:attempt-\d+|fenced-[0-9a-f]{16})-c(\d+)")
_CLAIM = re.compile(rf"{CLAIMS}/(\d{{6}})")
_ARRIVING = re.compile(rf"{INCOMING}/(\d+)")
# Created whenever a run starts or resumes, and possibly empty.
_FOLDERS = frozenset({CLAIMS, JOURNAL, EPISODES, INCOMING, SECRETS, "logs", "staging"})
_SLOT = re.compile(r"staging/(slot-\d+|salvaged-\d+\.slot-\d+)")


@dataclass
class RunFolder:
    """The contents of a run's folder; names are paths relative to it."""

    documents: list[str] = field(default_factory=list)  # files that the seal covers
    segments: list[str] = field(default_factory=list)
    bundles: dict[str, int] = field(default_factory=dict)  # folder -> its claim
    outside: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)  # except those that every run has
    unexpected: list[str] = field(default_factory=list)  # one sentence each


def documents_to_seal(run: Path) -> dict[str, str]:
    """Every file that nothing else proves, with its sha256."""
    return {name: file_sha256(run / name) for name in scan(run).documents}


def latest_device_facts(events: Iterable[Event]) -> dict[str, dict[str, Any]]:
    """The facts that each device reported when it last started."""
    return {event.device: event.facts for event in events if isinstance(event, DeviceStarted)}


def scan(run: Path) -> RunFolder:
    """Everything in the folder, except inside bundles; links are not followed."""
    found = RunFolder()
    for name, status in _walk(run, ""):
        parts = name.split("/")
        if stat.S_ISDIR(status.st_mode):
            if parts[0] == EPISODES and len(parts) == 3:
                _add_bundle(found, name, parts[2])
            elif _ARRIVING.fullmatch(name):
                _add_arriving(found, run, name)
            elif name not in _FOLDERS and not _SLOT.fullmatch(name):
                found.folders.append(name)
        elif not stat.S_ISREG(status.st_mode):
            found.unexpected.append(f"{name}: is not a plain file")
        elif parts[0] in (JOURNAL, EPISODES, INCOMING):
            if parts[0] == JOURNAL and len(parts) == 2 and _SEGMENT.fullmatch(parts[1]):
                found.segments.append(name)
            else:
                found.unexpected.append(f"{name}: this file does not belong to the run")
        elif parts[0] == SECRETS:
            found.outside.append(name)
        elif name != REPORT:
            found.documents.append(name)
    last = _last_segment(found)
    for name in [each for each in found.documents if _CLAIM.fullmatch(each)]:
        if int(name.rpartition("/")[2]) > last > 0:
            found.documents.remove(name)
            found.outside.append(name)
    return found


def _last_segment(found: RunFolder) -> int:
    return max((int(Path(name).stem) for name in found.segments), default=0)


def _add_bundle(found: RunFolder, name: str, own: str) -> None:
    match = _BUNDLE.fullmatch(own)
    if match is None:
        found.unexpected.append(f"{name}: this folder does not belong to the run")
    else:
        found.bundles[name] = int(match[1])


def _add_arriving(found: RunFolder, run: Path, name: str) -> None:
    """Of a coordinator that was killed; it removes the folder when it ends."""
    with suppress(FileNotFoundError):
        if os.listdir(run / name):
            found.outside.append(name)


def left_behind(found: RunFolder, journaled: Collection[str]) -> list[str]:
    """The bundles without a line that a coordinator before the last one stored."""
    last = _last_segment(found)
    return [name for name, claim in found.bundles.items() if name not in journaled and claim < last]


def added(
    found: RunFolder, sealed: Collection[str], bundles: Collection[str], episodes: Iterable[str]
) -> list[str]:
    """What was added to the folder: neither the seal, the journal nor the plan names it."""
    problems, left = list(found.unexpected), left_behind(found, bundles)
    problems += [
        f"{name}: this file does not belong to the run"
        for name in found.documents
        if name not in sealed
    ]
    problems += [
        f"{name}: no line of the journal names this bundle"
        for name in found.bundles
        if name not in bundles and name not in left
    ]
    # An episode's folder is created before its first bundle is verified.
    known = {f"{EPISODES}/{id}" for id in episodes}
    known |= {str(parent) for name in sealed for parent in PurePosixPath(name).parents}
    return problems + [
        f"{name}: this folder does not belong to the run"
        for name in found.folders
        if name not in known
    ]


def _walk(run: Path, below: str) -> Iterator[tuple[str, os.stat_result]]:
    """Folders and files in the order of their names; bundles and what is arriving are not
    entered."""
    with os.scandir(run / below) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{below}/{name}" if below else name
        with suppress(FileNotFoundError):  # a run under way renames and removes files
            status = (run / path).lstat()
            yield path, status
            inside = path.startswith(f"{EPISODES}/") and path.count("/") == 2
            inside = inside or _ARRIVING.fullmatch(path) is not None
            if stat.S_ISDIR(status.st_mode) and not inside:
                yield from _walk(run, path)
