"""Audits one bundle: reads its documents and traces line by line and applies every rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .. import attempt, manifest
from ..bundle import FOLDERS
from ..summary import NAME as SUMMARY
from . import actions, attempts, observations, oracles, resets
from .fields import check_line
from .reader import EvidenceFolder, Fields
from .rules import Finding, Findings
from .state import AuditState, RunFacts

Check = Callable[[AuditState, int, Fields], None]

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


def audit_bundle(folder: Path) -> list[Finding]:
    """The findings in one bundle by itself; none if it keeps every rule."""
    findings = Findings()
    check_bundle(EvidenceFolder(folder, findings), RunFacts())
    return findings.found


def check_bundle(folder: EvidenceFolder, run: RunFacts) -> int:
    """Apply all rules of a bundle; the number of its events."""
    state = AuditState(folder, run)
    reached = folder.exists(SUMMARY)
    record = attempts.read_record(folder)
    summary = folder.document(SUMMARY) if reached else None
    if summary is not None:
        attempts.check_summary(summary, record, run.seeds, folder.findings)
    if not folder.exists(manifest.NAME):
        folder.findings.add(manifest.NAME, 0, "file_missing", "the bundle is not sealed")
    stored = _stored_files(folder, reached)
    for trace, check in CHECKS.items():
        if reached or folder.exists(f"{trace}.jsonl"):
            _check_trace(state, trace, check)
    for check_end in (
        observations.check_end,
        actions.check_end,
        resets.check_end,
        oracles.check_end,
    ):
        check_end(state, reached=reached)
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


def _stored_files(folder: EvidenceFolder, reached: bool) -> list[str]:
    """Every picture, dump and raw result in the bundle."""
    folders = [name for name in FOLDERS if reached or folder.exists(name)]
    return [file for name in folders for file in folder.names(name)]


def _check_trace(state: AuditState, trace: str, check: Check) -> None:
    file = f"{trace}.jsonl"
    for number, fields in state.folder.lines(file):
        state.events += number > 0
        if fields is not None and check_line(trace, number, fields, state.folder.findings):
            check(state, number, fields)
        else:
            state.broken.add(trace)
