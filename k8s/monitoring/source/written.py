"""The files of k8s/monitoring that are written by code, each with what makes its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .farm import farm
from .rules import FOLDER, OBJECT, rule_object
from .run import run

DASHBOARDS = FOLDER / "dashboards"
WRITTEN: Mapping[Path, Callable[[], str]] = {
    OBJECT: rule_object,
    DASHBOARDS / "farm.json": farm,
    DASHBOARDS / "run.json": run,
}
