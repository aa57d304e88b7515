"""One run, and all that it is executed with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..pins.profile import Profile
from ..plan.plan import Plan
from ..settings import RunSettings
from .backends import Backend


@dataclass(frozen=True)
class Job:
    run: Path
    plan: Plan
    settings: RunSettings
    profile: Profile
    backend: Backend
    devices: int
