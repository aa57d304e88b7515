"""The phone stands alone: it imports Python, its declared libraries and itself."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import simphone

SOURCE = Path(simphone.__file__).parent
# Its fonts come from packages too, but are read as files.
LIBRARIES = {"PIL", "h11", "regex"}


def importers() -> dict[str, set[str]]:
    """For every top-level package, the modules that import it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.name.split(".")[0]].add(path.name)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module.split(".")[0]].add(path.name)
    return found


def test_nothing_but_its_libraries_is_imported() -> None:
    """Above all nothing of the farm: a farm that works with it relies on no shared code."""
    assert set(importers()) - set(sys.stdlib_module_names) - {"__future__"} == LIBRARIES


@pytest.mark.parametrize("library", ["h11", "regex"])
def test_a_library_is_imported_by_one_module(library: str) -> None:
    assert len(importers()[library]) == 1
