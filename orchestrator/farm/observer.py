"""Who is told of a run while it goes on."""

from __future__ import annotations

from typing import Protocol

from ..coordinator.coordinator import Coordinator


class Observer(Protocol):
    def say(self, text: str) -> None:
        """A line for a person."""
        ...

    def watch(self, coordinator: Coordinator) -> None:
        """Before the first transition of this execution."""
        ...

    def fleet_ended(self, reasons: list[str]) -> None:
        """Why slots were given up, if any were."""
        ...
