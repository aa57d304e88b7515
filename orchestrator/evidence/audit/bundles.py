"""One bundle, held against every rule, a line at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .. import attempt, manifest
from ..bundle import FOLDERS
from ..summary import NAME as SUMMARY
from . import observed, oracles, resets, said, words
from .finding import Finding, Findings
from .reading import Fields, Folder
from .seen import RunFacts, Seen
from .shapes import line_holds

# In the order of reading: what a later trace is held against has been told by then.
READERS: Mapping[str, Callable[[Seen, int, Fields], None]] = {
    "obs_trace": observed.observation,
    "screen_trace": observed.screen,
    "foreground_trace": observed.foreground,
    "device_trace": resets.device,
    "agent_call_trace": said.call,
    "agent_action_trace": said.agent_action,
    "device_input_trace": said.given,
    "action_trace": said.action,
    "ui_elements": observed.elements,
    "consent_trace": said.consent,
    "oracle_trace": oracles.oracle,
}


def audit_bundle(folder: Path) -> list[Finding]:
    """What is wrong with one bundle by itself; nothing, where it is as it should be."""
    findings = Findings()
    hold(Folder(folder, findings), RunFacts())
    return findings.found


def hold(folder: Folder, run: RunFacts) -> int:
    """All rules of a bundle; how many events it holds."""
    seen = Seen(folder, run)
    reached = folder.exists(SUMMARY)
    record = words.attempt_record(folder)
    summary = folder.document(SUMMARY) if reached else None
    if summary is not None:
        words.summary(summary, record, run.seeds, folder.findings)
    if not folder.exists(manifest.NAME):
        folder.findings.add(manifest.NAME, 0, "file_missing", "the bundle is not sealed")
    stored = _stored(folder, reached)
    for trace, see in READERS.items():
        if reached or folder.exists(f"{trace}.jsonl"):
            _read(seen, trace, see)
    for end in (observed.end, said.end, resets.end, oracles.end):
        end(seen, reached=reached)
    if record is not None:
        words.held_against(record, seen)
        if run.seeds is not None:
            words.place(record, folder.path, folder.findings)
        if bool(record.effort.steps) is not reached:
            text = f"the agent was shown {record.effort.steps} steps"
            folder.findings.add(attempt.NAME, 0, "reached", text)
    for name in stored:
        if name not in seen.named and seen.whole("obs_trace", "oracle_trace"):
            folder.findings.add(name, 0, "unnamed", "no event names it")
    return seen.events


def _stored(folder: Folder, reached: bool) -> list[str]:
    """Every picture, dump and raw result that is there."""
    there = [name for name in FOLDERS if reached or folder.exists(name)]
    return [file for name in there for file in folder.names(name)]


def _read(seen: Seen, trace: str, see: Callable[[Seen, int, Fields], None]) -> None:
    file = f"{trace}.jsonl"
    for number, fields in seen.folder.lines(file):
        seen.events += number > 0
        if fields is not None and line_holds(trace, number, fields, seen.folder.findings):
            see(seen, number, fields)
        else:
            seen.broken.add(trace)
