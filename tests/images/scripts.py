"""Imports the programs of an image's build, which are outside of the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "images"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"images_{name}", IMAGES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
