"""Verifies a run's folder: its files, plan, journal, documents, bundles and report.

Reads the folder and nothing else: no device, no network; writes nothing. Each problem is one
sentence that names its file. What depends on something broken is not checked: a broken journal
proves nothing, and a bundle that does not match its manifest is not judged again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ...coordinator import chain
from ...coordinator.chain import JournalBroken
from ...coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    Event,
    EvidenceMissing,
    RunOpened,
    RunSealed,
    SegmentOpened,
)
from ...errors import EmufarmError, UsageError
from ...evidence import manifest
from ...evidence.bundle import FOLDERS
from ...files import file_sha256, read_json
from ...outcome import Outcome, Reason
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from ...plan.plan import Plan
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from .. import build
from ..build import NAME as REPORT
from .attempts import PlannedQuestions, attempt_problems
from .documents import disagreements, plan_problems
from .journal import replay
from .run_folder import RunFolder, added, latest_device_facts, left_behind, scan

_LONE_BUNDLE = "the run: a lone bundle is not compared with a journal or a plan"
_NOT_SEALED = "journal: it is not sealed, so lines could have been cut from its end"


@dataclass(frozen=True)
class Proof:
    """What was checked, and the problems that were found."""

    problems: tuple[str, ...]
    episodes: int = 0
    attempts: int = 0  # with a bundle
    files: int = 0
    head: str = ""  # digest of the journal's last line
    outside: tuple[str, ...] = ()  # what the proof does not cover, by design
    without_input: tuple[str, ...] = ()  # consistent, and yet not the agent's doing: episodes


def verify_bundle(folder: Path) -> Proof:
    """Verify a bundle by itself."""
    problems, files = _bundle_files(folder)
    problems = problems or attempt_problems(folder, None, None)
    return Proof(tuple(problems), episodes=1, attempts=1, files=files, outside=(_LONE_BUNDLE,))


def verify_run(run: Path) -> Proof:
    found = scan(run)
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
        return Proof((*problems, *found.unexpected), outside=tuple(found.outside))
    if contradictions := plan_problems(plan):
        return Proof((*problems, *contradictions, *found.unexpected), outside=tuple(found.outside))
    events = [line.event for line in read.lines]
    attempts = [event for event in events if isinstance(event, AttemptCommitted | AttemptFenced)]
    in_segments, outside = _segments(run, found, read)
    problems += in_segments + replay(plan, read.lines) + _documents(run, plan, found, events)
    questions = PlannedQuestions(run, plan)
    left = left_behind(found, {event.bundle for event in attempts})
    in_bundles, files = _bundles(run, found, attempts, questions, left)
    problems += in_bundles + _report(run)
    return Proof(
        tuple(problems),
        episodes=len(plan.episodes),
        attempts=len(attempts),
        files=files + len(found.documents) + len(found.segments) + (run / REPORT).exists(),
        head=read.head,
        outside=(
            *found.outside,
            *left,
            *outside,
            *_refused(attempts),
            *_went_on(events),
            *questions.unchecked,
        ),
        without_input=_without_input(attempts),
    )


def _without_input(attempts: Iterable[AttemptCommitted | AttemptFenced]) -> tuple[str, ...]:
    """The episodes that succeeded with no action that could have changed a result."""
    return tuple(
        event.episode
        for event in attempts
        if isinstance(event, AttemptCommitted)
        and event.judgement.outcome is Outcome.SUCCESS
        and event.effort.inputs == 0
    )


def _refused(attempts: Iterable[AttemptCommitted | AttemptFenced]) -> list[str]:
    """The judgements that the coordinator refused, whose bundles contradict themselves."""
    return [
        f"{event.bundle}: its own judgement, which counts nowhere: {event.judgement.text}"
        for event in attempts
        if event.judgement.reason is Reason.MISJUDGED
    ]


def _went_on(events: Iterable[Event]) -> list[str]:
    """The bundles that were missing already when the run was resumed."""
    return [
        f"{event.bundle}: the run went on without it ({event.problem})"
        for event in events
        if isinstance(event, EvidenceMissing)
    ]


def _segments(
    run: Path, found: RunFolder, read: chain.JournalContents
) -> tuple[list[str], list[str]]:
    """Check for bytes after the last line of each segment; a sealed run's last segment has none."""
    problems = [] if read.sealed else [_NOT_SEALED]
    outside = []
    if read.torn and read.sealed:
        problems.append(f"{chain.FOLDER}: {read.torn} bytes follow the line that seals the run")
    opened = [line.event for line in read.lines if isinstance(line.event, SegmentOpened)]
    cut = {event.sealed.name: event.sealed for event in opened if event.sealed}
    written = {chain.segment_name(event.claim) for event in opened}
    for name in found.segments:
        if Path(name).name not in written:
            outside.append(f"{name}: of a coordinator that had lost its claim, or never opened it")
            continue
        sealed = cut.get(Path(name).name)
        extra = (run / name).stat().st_size - sealed.length if sealed else 0
        if sealed and extra < sealed.cut:
            problems.append(
                f"{name}: {sealed.cut} torn bytes were left in it, now there are {extra}"
            )
        elif extra:
            outside.append(f"{name}, its last {extra} bytes: a torn line, or a second writer")
    return problems, outside


def _documents(run: Path, plan: Plan, found: RunFolder, events: Sequence[Event]) -> list[str]:
    """The files that the seal names exist unchanged, and nothing was added."""
    files = next((event.files for event in events if isinstance(event, RunSealed)), None)
    if files is None:
        return list(found.unexpected)
    problems = []
    for name in dict.fromkeys((PLAN, MANIFEST, CAPABILITIES, *files)):
        if name not in found.documents:
            problems.append(f"{name}: is missing")
        elif name in files and file_sha256(run / name) != files[name]:
            problems.append(f"{name}: is not what was sealed")
    problems = problems or _contents(run, plan, events)
    bundles = {e.bundle for e in events if isinstance(e, AttemptCommitted | AttemptFenced)}
    ids = [episode.id for episode in plan.episodes]
    return problems + added(found, files, bundles, ids)


def _contents(run: Path, plan: Plan, events: Sequence[Event]) -> list[str]:
    """The run's manifest and capabilities agree with this plan and the devices in the journal."""
    devices = latest_device_facts(events)
    try:
        opened = next(event for event in events if isinstance(event, RunOpened))
        recorded, capabilities = read_json(run / MANIFEST), read_json(run / CAPABILITIES)
        return disagreements(recorded, capabilities, plan, opened, devices)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        return [f"{MANIFEST} or {CAPABILITIES}: is not a valid document: {error!r}"]


def _bundles(
    run: Path,
    found: RunFolder,
    attempts: list[AttemptCommitted | AttemptFenced],
    questions: PlannedQuestions,
    left: list[str],
) -> tuple[list[str], int]:
    def check(event: AttemptCommitted | AttemptFenced) -> tuple[list[str], int]:
        if event.bundle not in found.bundles:
            return [f"{event.bundle}: is missing"], 0
        folder = run / event.bundle
        problems, files = _bundle_files(folder)
        if not problems and manifest.digest(folder) != event.manifest:
            problems = [f"{manifest.NAME}: is not the one that the journal names"]
        problems = problems or attempt_problems(folder, event, questions)
        return [f"{event.bundle}/{problem}" for problem in problems], files

    def check_left(name: str) -> tuple[list[str], int]:
        problems, files = _bundle_files(run / name)
        return [f"{name}/{problem}" for problem in problems], files

    # Hashing releases the interpreter lock.
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        results = [*threads.map(check, attempts), *threads.map(check_left, left)]
    problems = [problem for found_here, _ in results for problem in found_here]
    return problems, sum(files for _, files in results)


def _bundle_files(folder: Path) -> tuple[list[str], int]:
    """The problems of a bundle's files, and their number; every bundle has FOLDERS, even empty."""
    problems = manifest.verify(folder) + [
        f"{Path(at).relative_to(folder)}: this folder does not belong to the bundle"
        for at, folders, files in os.walk(folder)
        if not folders and not files and Path(at).relative_to(folder).as_posix() not in FOLDERS
    ]
    return problems, sum(1 for _ in manifest.entries(folder))


def _report(run: Path) -> list[str]:
    path = run / REPORT
    if not path.is_file():
        return [f"{REPORT}: is missing; `emufarm report` computes it"]
    try:
        computed = b"".join(build.serialized(build.compute(run)))
    except EmufarmError as error:
        return [f"{REPORT}: cannot be computed again: {error}"]
    same = path.read_bytes() == computed
    return [] if same else [f"{REPORT}: is not what the plan and the journal give"]
