"""What have a bundle's traces told so far, as much as later lines are held against?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...events.canonical import Json, digest
from .reading import Folder

Measure = tuple[int, str]  # size and sha256


@dataclass(frozen=True)
class RunFacts:
    """What a bundle is held against of its run; a bundle alone is held against what is here."""

    level: str = "L0"  # action_trace_level
    image: Mapping[str, str] | None = None  # the parts of a reset's proof, as baked
    seeds: Mapping[str, Any] | None = None  # by episode


@dataclass
class Seen:
    folder: Folder
    run: RunFacts
    events: int = 0
    broken: set[str] = field(default_factory=set)  # traces with a line that cannot be used
    steps: dict[str, dict[int, int]] = field(default_factory=dict)  # trace -> step -> line
    trees: dict[int, str | None] = field(default_factory=dict)  # step -> ui_hash
    pictures: dict[int, str] = field(default_factory=dict)  # step -> file
    frames: dict[int, tuple[int, int]] = field(default_factory=dict)  # step -> width, height
    responses: dict[int, str | None] = field(default_factory=dict)  # step -> response_digest
    actions: dict[int, str | None] = field(default_factory=dict)  # step -> digest of the action
    inputs: dict[int, str | None] = field(default_factory=dict)  # step -> digest of its input
    named: set[str] = field(default_factory=set)  # files that an event names
    proven: bool | None = None  # the last reset; None: there was none
    pinned: bool = False  # the device was held against its pins, and is as they say
    turned: Counter[str] = field(default_factory=Counter)  # ask, confirm, refuse
    question: tuple[str, int, int] | None = None  # event, step and line of one without an answer
    asked_before: set[str] = field(default_factory=set)  # oracles, by name
    asked: int = 0  # answers of oracles
    violations: set[str] = field(default_factory=set)
    _measured: dict[str, Measure | None] = field(default_factory=dict)

    def add(self, trace: str, line: int, rule: str, text: str) -> None:
        self.folder.findings.add(f"{trace}.jsonl", line, rule, text)

    def count(self, trace: str, line: int, step: int) -> None:
        """This step has its line in this trace."""
        told = self.steps.setdefault(trace, {})
        if step in told:
            self.add(trace, line, "step_order", f"step {step} comes twice")
        told.setdefault(step, line)

    def told(self, trace: str) -> dict[int, int]:
        return self.steps.get(trace, {})

    def whole(self, *traces: str) -> bool:
        """Whether these can be held against others: what is broken is told once."""
        return not self.broken.intersection(traces)

    def measure(self, name: str) -> Measure | None:
        """Size and sha256 of a file that an event names, read once however often it is named."""
        self.named.add(name)
        if name not in self._measured:
            there = self.folder.exists(name)
            self._measured[name] = self.folder.measure(name) if there else None
        return self._measured[name]


def digest_of(value: Json) -> str | None:
    """None for what is nested too deeply to have one."""
    try:
        return digest(value)
    except RecursionError:
        return None
