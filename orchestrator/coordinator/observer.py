"""What a coordinator reports of its run to whoever counts it, and of its own disk."""

from __future__ import annotations

from typing import Protocol

from .transitions import Event


class RunObserver(Protocol):
    """Called on the event loop; it must not block or raise."""

    def journaled(self, event: Event) -> None:
        """A transition that is on disk: first every one that is replayed, then each as it is
        synced, so that what was reported is never taken back by a crash."""
        ...

    def committed(self, seconds: float) -> None:
        """A bundle was stored and journaled; from its whole upload on."""
        ...

    def synced(self, seconds: float) -> None:
        """The journal was written and synced."""
        ...


class Unobserved:
    """Counts nothing."""

    def journaled(self, event: Event) -> None: ...

    def committed(self, seconds: float) -> None: ...

    def synced(self, seconds: float) -> None: ...


UNOBSERVED = Unobserved()
