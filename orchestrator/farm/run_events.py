"""The events that a run reports to its caller while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..coordinator.transitions import Event
from ..events.notify import Notify


@dataclass(frozen=True)
class Notice:
    """A line for a person."""

    text: str


@dataclass(frozen=True)
class RunStarted:
    """The coordinator is open. `view()` is the run's state at any time until the run ends."""

    folder: Path
    view: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Journaled:
    """A line was added to the journal."""

    event: Event


RunEvent = Notice | RunStarted | Journaled
OnEvent = Callable[[RunEvent], None]


def notifier(on_event: OnEvent) -> Notify:
    """Reports each line as a Notice."""
    return lambda line: on_event(Notice(line))


def ignore(event: RunEvent) -> None:
    """The callback of a caller who wants no events."""
