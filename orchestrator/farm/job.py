"""One run, and all that it is executed with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..pins.profile import Profile
from ..plan.plan import Plan
from ..settings import RunSettings
from .backends import Backend

ASKING_S = 60.0  # for a worker to find its device gone, once its agent has answered


@dataclass(frozen=True)
class Job:
    run: Path
    plan: Plan
    settings: RunSettings
    profile: Profile
    backend: Backend
    devices: int

    @property
    def last_word_s(self) -> float:
        """How long a device that ended waits to be asked how. An agent that has switched it off
        from within may think for its whole budget first; were nobody there to ask by then, it would
        count as the host's doing, and be tried again."""
        longest = max(case.case["budget"]["seconds"] for case in self.plan.cases)
        return float(longest) + ASKING_S
