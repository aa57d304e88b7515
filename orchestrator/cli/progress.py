"""Shows a run's progress: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceFailed,
    DeviceLost,
    DeviceQuarantined,
    EpisodeDecided,
    Event,
)
from ..farm.interruption import STOPPING
from ..farm.run_events import Journaled, Notice, RunEvent, RunStarted
from .output import notify
from .plain_console import PlainConsole

REFRESHES_S = 4


class ProgressDisplay:
    """Shows a run's events: live, as plain lines, or not at all. Call it with each event."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = PlainConsole(quiet=quiet)
        self._view: Callable[[], dict[str, Any]] | None = None
        self._live: Live | None = None
        if self._console.is_terminal and not quiet:
            self._live = Live(
                get_renderable=self._table, console=self._console, refresh_per_second=REFRESHES_S
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: RunEvent) -> None:
        match event:
            case Notice():
                self.notify(event.text)
                if self._console.quiet and event.text == STOPPING:
                    notify(event.text)
            case RunStarted():
                self._view = event.view
            case Journaled():
                if line := self._line(event.event):
                    self.notify(line)

    def notify(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _line(self, event: Event) -> str:
        """Trouble is always shown; a decision only where there is no live table."""
        match event:
            case EpisodeDecided() if self._live is None:
                assert self._view is not None
                view = self._view()
                judged = event.judgement
                extra = f" ({judged.reason})" if judged.reason else ""
                seen = f", violations: {', '.join(judged.violations)}" if judged.violations else ""
                return (
                    f"[{view['decided']}/{view['total']}] {event.episode}: "
                    f"{judged.outcome}{extra}{seen}"
                )
            case AttemptCommitted() | AttemptLost() if event.judgement.retried:
                judged = event.judgement
                return (
                    f"infrastructure: {event.episode} attempt {event.attempt} on {event.device}: "
                    f"{judged.phase}/{judged.reason}: {first_line(judged.text)}"
                )
            case DeviceFailed():
                return (
                    f"device {event.device} did not start: {event.reason}: {first_line(event.text)}"
                )
            case DeviceLost():
                return f"device {event.device} was lost: {first_line(event.text)}"
            case DeviceQuarantined():
                return f"device {event.device} gets no more leases: {event.text}"
        return ""

    def _table(self) -> Group | Text:
        if self._view is None:
            return Text("starting ...")
        view = self._view()
        bar = ProgressBar(total=max(1, view["total"]), completed=view["decided"], width=40)
        outcomes = "  ".join(f"{name} {count}" for name, count in sorted(view["outcomes"].items()))
        head = Table.grid(padding=(0, 2))
        head.add_row(
            bar, f"{view['decided']}/{view['total']}", f"infra {view['infra_attempts']}",
            time_left(view["eta_s"]), outcomes,
        )  # fmt: skip
        return Group(head, devices(view))


def devices(view: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("device", "state", "episode", "attempts", "infra"):
        table.add_column(title)
    for name, device in view["devices"].items():
        table.add_row(
            name, device["state"], device["episode"] or "", str(device["attempts"]),
            str(device["infra"]),
        )  # fmt: skip
    more = sum(view["device_counts"].values()) - len(view["devices"])
    if more:
        counts = ", ".join(f"{count} {name}" for name, count in view["device_counts"].items())
        table.add_row("...", f"{more} more", f"all: {counts}", "", "")
    return table


def time_left(seconds: float | None) -> str:
    """Empty while it is unknown."""
    return "" if seconds is None else f"left {int(seconds) // 60}:{int(seconds) % 60:02d}"


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
