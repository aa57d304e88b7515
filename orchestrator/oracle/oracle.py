"""What an oracle is: queries -> raw results -> typed facts -> decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..device.phone import Device
from ..events.canonical import Json


@dataclass(frozen=True)
class Query:
    """One question as it was put: exactly one of cmd, sql, path, uri says it."""

    type: str
    timeout_ms: int
    cmd: str | None = None
    sql: str | None = None
    path: str | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Reading:
    """What was asked and what came back. `facts` is all that the decision reads: no row ids, no
    dates, nothing that differs between two phones in the same state."""

    queries: tuple[Query, ...]
    raw: str
    facts: Json


@dataclass(frozen=True)
class Decision:
    holds: bool
    reason: str


@dataclass(frozen=True)
class Context:
    """What a question may be asked of besides the phone."""

    device: Device
    roles: Mapping[str, str]  # app role -> package
    answer: str | None  # the agent's, once it gave one
    receipts: tuple[Mapping[str, Any], ...]  # the case site's requests so far


class Oracle(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Why an agent cannot talk its way past it."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the phone."""
        ...

    @property
    def settle(self) -> float | None:
        """Seconds that it may take to become true; None: as the profile says."""
        ...

    @property
    def tentative(self) -> bool:
        """An absence, or an exact count: what is still on its way may undo what holds now."""
        ...

    def queries(self, context: Context) -> tuple[Query, ...]:
        """What `ask` will put, word for word."""
        ...

    def ask(self, context: Context) -> Reading:
        """Puts the question; a transport error is a DeviceFault, never a no."""
        ...

    def decide(self, facts: Json) -> Decision:
        """Pure: the same facts always give the same decision."""
        ...


@dataclass(frozen=True)
class Verdict:
    """One oracle's word. `holds` is None where it could not be answered."""

    name: str
    kind: str
    phase: str  # pre | post
    holds: bool | None
    reason: str
    facts: Json
    queries: tuple[Query, ...]
    raw: str
    notes: tuple[str, ...]
    needs: tuple[str, ...]
    polls: int
    seconds: float
    faults: tuple[str, ...] = ()  # of asks that had to be repeated, and of the last where it failed
