"""A folder of cases and some flags, made into a plan."""

from __future__ import annotations

from pathlib import Path

from ..cases.load import load_cases
from ..cases.select import selection
from ..pins.profile import Profile
from ..plan.build import build
from ..plan.plan import Plan
from ..settings import RunSettings


def planned(folder: Path, settings: RunSettings, profile: Profile, k: str) -> Plan:
    return build(load_cases(folder), settings, profile.name, profile.digest, selection(k))
