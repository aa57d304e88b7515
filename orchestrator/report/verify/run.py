"""Is this run what was written, and does everything in it follow from what was seen?

Reads the folder and nothing else: no device, no network, nothing written. Each problem is one
sentence that names its file. Where something is broken, what rests on it is not looked at: a
broken journal vouches for nothing, and a bundle that is not whole is not judged again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ...coordinator import chain
from ...coordinator.chain import JournalBroken, Line
from ...coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    RunOpened,
    RunSealed,
    SegmentOpened,
)
from ...errors import EmufarmError, UsageError
from ...evidence import manifest
from ...evidence.bundle import FOLDERS
from ...pins.files import file_sha256, read_json
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from ...plan.plan import Plan
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from .. import build
from ..build import NAME as REPORT
from .attempts import PlannedQuestions, rejudged
from .documents import disagreements
from .journal import replay
from .plan import planned
from .run_folder import Holding, hold, reported, unaccounted

_ANOTHER = f"{manifest.NAME}: is not the one that the journal names"
_ALONE = "which run this is of: a bundle alone is held against no journal and no plan"
_NOT_SEALED = "journal: it is not sealed: lines cut from its end could not be told"


@dataclass(frozen=True)
class Proof:
    """What was looked at, and what is wrong with it."""

    problems: tuple[str, ...]
    episodes: int = 0
    attempts: int = 0  # with a bundle
    files: int = 0
    head: str = ""  # digest of the journal's last line
    outside: tuple[str, ...] = ()  # what nothing vouches for, by design


def verify_run(run: Path) -> list[str]:
    """What is wrong with a run; nothing, where it is proven."""
    return list(prove_run(run).problems)


def verify_bundle(folder: Path) -> list[str]:
    """What is wrong with a bundle by itself; nothing, where it is proven."""
    return list(prove_bundle(folder).problems)


def prove_bundle(folder: Path) -> Proof:
    problems, files = _whole(folder)
    if not problems:
        problems = rejudged(folder, None, None)
    return Proof(tuple(problems), episodes=1, attempts=1, files=files, outside=(_ALONE,))


def prove_run(run: Path) -> Proof:
    found = hold(run)
    problems: list[str] = []
    plan = read = None
    try:
        plan = read_plan(run / PLAN)
    except UsageError as error:
        problems.append(str(error))
    try:
        read = chain.read(run / chain.FOLDER)
    except JournalBroken as error:
        line = f", line {error.line}" if error.line else ""
        problems.append(f"{error.file.relative_to(run)}{line}: {error.rule}")
    if plan is None or read is None:
        return Proof((*problems, *found.strange), outside=tuple(found.outside))
    if told := planned(plan):
        return Proof((*problems, *told, *found.strange), outside=tuple(found.outside))
    attempts = [
        line.event
        for line in read.lines
        if isinstance(line.event, AttemptCommitted | AttemptFenced)
    ]
    told, outside = _segments(run, found, read)
    problems += told + replay(plan, read.lines) + _documents(run, plan, found, read, attempts)
    asker = PlannedQuestions(run, plan)
    checked, files = _bundles(run, found, attempts, asker)
    problems += checked + _report(run)
    return Proof(
        tuple(problems),
        episodes=len(plan.episodes),
        attempts=len(attempts),
        files=files + len(found.documents) + len(found.segments) + (run / REPORT).exists(),
        head=read.head,
        outside=(*found.outside, *outside, *asker.unasked),
    )


def _segments(run: Path, found: Holding, read: chain.Read) -> tuple[list[str], list[str]]:
    """Bytes of the journal that are in no line: a sealed run's last segment has none."""
    problems = [] if read.sealed else [_NOT_SEALED]
    outside = []
    if read.torn and read.sealed:
        problems.append(f"{chain.FOLDER}: {read.torn} bytes follow the line that seals the run")
    cut = {
        line.event.sealed.name: line.event.sealed
        for line in read.lines
        if isinstance(line.event, SegmentOpened) and line.event.sealed
    }
    for name in found.segments:
        sealed = cut.get(Path(name).name)
        extra = (run / name).stat().st_size - sealed.length if sealed else 0
        if sealed and extra < sealed.cut:
            problems.append(f"{name}: {sealed.cut} torn bytes were left in it, {extra} are there")
        elif extra:
            outside.append(f"{name}, its last {extra} bytes: torn, or a second writer's")
    return problems, outside


def _documents(
    run: Path,
    plan: Plan,
    found: Holding,
    read: chain.Read,
    attempts: Iterable[AttemptCommitted | AttemptFenced],
) -> list[str]:
    """The files that the seal names are there, as they were; and nothing was added."""
    files = _sealed_files(read.lines)
    if files is None:
        return list(found.strange)
    problems = []
    for name in dict.fromkeys((PLAN, MANIFEST, CAPABILITIES, *files)):
        if name not in found.documents:
            problems.append(f"{name}: is missing")
        elif name in files and file_sha256(run / name) != files[name]:
            problems.append(f"{name}: is not what was sealed")
    problems = problems or _agreed(run, plan, read.lines)
    bundles = {event.bundle for event in attempts}
    ids = [episode.id for episode in plan.episodes]
    return problems + unaccounted(found, files, bundles, ids)


def _agreed(run: Path, plan: Plan, lines: Sequence[Line]) -> list[str]:
    """The run's manifest and capabilities are of this plan, and of the devices in the journal."""
    devices = reported(line.event for line in lines)
    try:
        opened = next(line.event for line in lines if isinstance(line.event, RunOpened))
        told = read_json(run / MANIFEST), read_json(run / CAPABILITIES)
        return disagreements(told[0], told[1], plan, opened, devices)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        return [f"{MANIFEST} or {CAPABILITIES}: is no document of a run: {error!r}"]


def _sealed_files(lines: Iterable[Line]) -> Mapping[str, str] | None:
    for line in lines:
        if isinstance(line.event, RunSealed):
            return line.event.files
    return None


def _bundles(
    run: Path,
    found: Holding,
    attempts: list[AttemptCommitted | AttemptFenced],
    asker: PlannedQuestions,
) -> tuple[list[str], int]:
    def check(event: AttemptCommitted | AttemptFenced) -> tuple[list[str], int]:
        folder = run / event.bundle
        if event.bundle not in found.bundles:
            return [f"{event.bundle}: is missing"], 0
        problems, files = _whole(folder)
        if not problems and manifest.digest(folder) != event.manifest:
            problems = [_ANOTHER]
        if not problems:
            problems = rejudged(folder, event, asker)
        return [f"{event.bundle}/{problem}" for problem in problems], files

    def check_aside(name: str) -> tuple[list[str], int]:
        problems, files = _whole(run / name)
        if not problems and not manifest.digest(run / name).startswith(name.rpartition("-")[2]):
            problems = [f"{manifest.NAME}: is not the one that its folder is named after"]
        return [f"{name}/{problem}" for problem in problems], files

    asides = [name for name in found.bundles if name in found.outside]
    # Hashing leaves the interpreter to others.
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        results = [*threads.map(check, attempts), *threads.map(check_aside, asides)]
    problems = [problem for told, _ in results for problem in told]
    return problems, sum(files for _, files in results)


def _whole(folder: Path) -> tuple[list[str], int]:
    """What is wrong with a bundle's files, and how many there are."""
    problems = manifest.verify(folder) + _empty(folder)
    return problems, sum(1 for _ in manifest.entries(folder))


def _empty(folder: Path) -> list[str]:
    """Folders that hold nothing, besides those that every bundle has."""
    return [
        f"{Path(at).relative_to(folder)}: nothing accounts for this folder"
        for at, folders, files in os.walk(folder)
        if not folders and not files and Path(at).relative_to(folder).as_posix() not in FOLDERS
    ]


def _report(run: Path) -> list[str]:
    path = run / REPORT
    if not path.is_file():
        return [f"{REPORT}: is missing; `emufarm report` computes it"]
    try:
        computed = b"".join(build.serialized(build.compute(run)))
    except EmufarmError as error:
        return [f"{REPORT}: cannot be computed again: {error}"]
    if path.read_bytes() != computed:
        return [f"{REPORT}: is not what the plan and the journal come to"]
    return []
