"""Audits a whole run, a copy of one, or one bundle: reads it once and applies every rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import attempt, manifest
from ..attempt import SUMMARY
from ..bundle import FOLDERS
from . import actions, attempts, observations, oracles, resets
from .fields import check_line
from .reader import EvidenceFolder, Fields
from .rules import Finding, Findings
from .run_documents import check_run_documents
from .state import AuditState, RunFacts

EPISODES = "episodes"
MAX_FINDINGS = 100_000  # of one run
Check = Callable[[AuditState, Fields], None]

# In the order of reading: a trace comes after those that its lines are compared with.
CHECKS: Mapping[str, Check] = {
    "obs_trace": observations.check_observation,
    "screen_trace": observations.check_screen,
    "foreground_trace": observations.check_foreground,
    "device_trace": resets.check_device_event,
    "agent_call_trace": actions.check_call,
    "agent_action_trace": actions.check_agent_action,
    "device_input_trace": actions.check_input,
    "action_trace": actions.check_action,
    "ui_elements": observations.check_elements,
    "consent_trace": actions.check_consent,
    "oracle_trace": oracles.check_oracle,
}


@dataclass(frozen=True)
class Audited:
    bundles: int
    events: int
    findings: list[Finding]


def audit(run: Path) -> Audited:
    """Apply every rule to a run; to a folder that is a bundle, the rules of bundles."""
    findings = Findings()
    if _is_bundle(run):
        events = _check_bundle(EvidenceFolder(run, findings), RunFacts())
        return Audited(1, events, findings.found)
    facts = check_run_documents(EvidenceFolder(run, findings))
    found, bundles, events = findings.found, 0, 0
    for folder in _bundles_below(run, findings):
        one = Findings()
        events += _check_bundle(EvidenceFolder(folder, one), facts)
        found += one.below(folder.relative_to(run).as_posix())[: MAX_FINDINGS - len(found)]
        bundles += 1
    return Audited(bundles, events, found)


def _bundles_below(run: Path, findings: Findings) -> Iterator[Path]:
    """The run's bundles in order, following no link.

    A bundle is a folder with a summary.json or an attempt.json, and any folder in a bundle's place;
    a hidden one there is still being written.
    """
    waiting = [run]
    while waiting:
        folder = waiting.pop()
        place = _is_place(folder.relative_to(run))
        if place and folder.name.startswith("."):
            continue
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
        if place or SUMMARY in names or attempt.NAME in names:
            yield folder
        else:
            waiting += sorted(below, reverse=True)


def _is_place(folder: Path) -> bool:
    """Whether it is episodes/<episode>/<bundle>."""
    return len(folder.parts) == 3 and folder.parts[0] == EPISODES


def _is_bundle(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SUMMARY, attempt.NAME))


def _check_bundle(folder: EvidenceFolder, run: RunFacts) -> int:
    """Apply all rules of a bundle; the number of its events."""
    state = AuditState(folder, run)
    reached = folder.exists(SUMMARY)
    record = attempts.read_record(folder)
    summary = folder.document(SUMMARY) if reached else None
    if summary is not None:
        attempts.check_summary(summary, record, run.seeds, folder.findings)
    if not folder.exists(manifest.NAME):
        folder.findings.add(manifest.NAME, 0, "file_missing", "the bundle is not sealed")
    folders = [name for name in FOLDERS if reached or folder.exists(name)]
    stored = [file for name in folders for file in folder.names(name)]
    for trace, check in CHECKS.items():
        if reached or folder.exists(f"{trace}.jsonl"):
            _check_trace(state, trace, check)
    for module in (observations, actions, resets, oracles):
        module.check_end(state, reached=reached)
    if record is not None:
        attempts.check_counts(record, state)
        if run.seeds is not None:
            attempts.check_place(record, folder.path, folder.findings)
        if bool(record.effort.steps) is not reached:
            text = f"the agent was shown {record.effort.steps} steps"
            folder.findings.add(attempt.NAME, 0, "reached", text)
    for name in stored:
        if name not in state.named and state.usable("obs_trace", "oracle_trace"):
            folder.findings.add(name, 0, "unnamed", "no event names it")
    return state.events


def _check_trace(state: AuditState, trace: str, check: Check) -> None:
    state.trace = trace
    for number, fields in state.folder.lines(f"{trace}.jsonl"):
        state.line = number
        state.events += number > 0
        if fields is not None and check_line(trace, number, fields, state.folder.findings):
            check(state, fields)
        else:
            state.broken.add(trace)
