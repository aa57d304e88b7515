"""Imports the programs of an image's build, which are outside of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "images"


def load(name: str) -> ModuleType:
    """As it is started: with the programs beside it within its reach."""
    spec = importlib.util.spec_from_file_location(f"images_{name}", IMAGES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(IMAGES))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(IMAGES))
    return module
