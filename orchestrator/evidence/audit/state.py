"""The state of one bundle's audit: what was read so far, for the rules that compare lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...events.canonical import Json, digest
from .reader import EvidenceFolder

Content = tuple[int, str]  # size and sha256


@dataclass(frozen=True)
class RunFacts:
    """Facts of the run that its bundles are checked against; the defaults are for a lone bundle."""

    level: str = "L0"  # action_trace_level
    image: Mapping[str, str] | None = None  # the parts of a reset's proof, as baked
    seeds: Mapping[str, Any] | None = None  # by episode


@dataclass
class AuditState:
    folder: EvidenceFolder
    run: RunFacts
    trace: str = ""  # the trace and the line that are being checked
    line: int = 0
    events: int = 0
    broken: set[str] = field(default_factory=set)  # traces with a line that cannot be used
    # Trace -> step -> line.
    steps: Mapping[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    trees: dict[int, str | None] = field(default_factory=dict)  # step -> ui_hash
    pictures: dict[int, str] = field(default_factory=dict)  # step -> file
    frames: dict[int, tuple[int, int]] = field(default_factory=dict)  # step -> width, height
    responses: dict[int, str | None] = field(default_factory=dict)  # step -> response_digest
    actions: dict[int, str | None] = field(default_factory=dict)  # step -> digest of the action
    inputs: dict[int, str | None] = field(default_factory=dict)  # step -> digest of its input
    named: set[str] = field(default_factory=set)  # files that an event names
    reset_proven: bool | None = None  # the last reset; None: there was none
    pins_match: bool = False  # the device was compared with its pins and matches them
    consent_events: Counter[str] = field(default_factory=Counter)  # ask, confirm, refuse
    open_question: tuple[str, int, int] | None = None  # event, step and line, not yet answered
    asked_before: set[str] = field(default_factory=set)  # oracles, by name
    oracle_events: int = 0
    violations: set[str] = field(default_factory=set)
    _measured: dict[str, Content | None] = field(default_factory=dict)

    def add(self, rule: str, text: str) -> None:
        """Add a finding about the line that is being checked."""
        self.add_at(self.trace, self.line, rule, text)

    def add_at(self, trace: str, line: int, rule: str, text: str) -> None:
        self.folder.findings.add(f"{trace}.jsonl", line, rule, text)

    def add_step(self, step: int) -> None:
        """Record that this trace has a line for this step."""
        lines = self.steps[self.trace]
        if step in lines:
            self.add("step_order", f"step {step} occurs twice")
        lines.setdefault(step, self.line)

    def empty(self, trace: str) -> bool:
        """Whether the trace is usable and has no line for any step."""
        return self.usable(trace) and not self.steps[trace]

    def usable(self, *traces: str) -> bool:
        """Whether others can be compared with these: a broken trace is reported only once."""
        return not self.broken.intersection(traces)

    def measure(self, name: str) -> Content | None:
        """Size and sha256 of a file that an event names, read once however often it is named."""
        self.named.add(name)
        if name not in self._measured:
            exists = self.folder.exists(name)
            self._measured[name] = self.folder.measure(name) if exists else None
        return self._measured[name]


def digest_of(value: Json) -> str | None:
    """The value's digest; None if it is nested too deeply to have one."""
    try:
        return digest(value)
    except RecursionError:
        return None
