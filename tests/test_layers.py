"""Import rules that import-linter cannot express: which module may import which vendor library."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUPERVISOR = "orchestrator.supervisor"


def module_name(source: Path) -> str:
    parts = source.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by(source: Path) -> Iterator[str]:
    """Every name a file imports, in full, wherever in the file the import stands."""
    package = source.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(source.read_text(), source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*origin, *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


IMPORTS = {
    module_name(source): sorted(set(imported_by(source)))
    for source in (ROOT / "orchestrator").rglob("*.py")
}


def importers_of(library: str) -> list[str]:
    return sorted(
        module
        for module, imports in IMPORTS.items()
        if any(within(name, library) for name in imports)
    )


@pytest.mark.parametrize(
    "library", ["adbutils", "docker", "kubernetes", "prometheus_client", "tenacity"]
)
def test_a_vendor_library_is_imported_by_at_most_one_module(library: str) -> None:
    """Whoever replaces the library, or learns of a quirk in it, has one file to change."""
    assert len(importers_of(library)) <= 1, importers_of(library)


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("adbutils", ["orchestrator.device"]),
        ("PIL", ["orchestrator.device"]),
    ],
)
def test_a_library_stays_in_its_rooms(library: str, rooms: list[str]) -> None:
    """Only the device room speaks adb; only it and the simulated phone handle pixels."""
    strays = [
        module
        for module in importers_of(library)
        if not any(within(module, room) for room in rooms)
    ]
    assert strays == []


def test_the_supervisor_needs_nothing_but_python() -> None:
    """It is the device image's entry point, and that image installs no package."""
    strays = {
        module: foreign
        for module, imports in IMPORTS.items()
        if within(module, SUPERVISOR)
        and (
            foreign := [
                name
                for name in imports
                if name.split(".")[0] not in sys.stdlib_module_names
                and not within(name, SUPERVISOR)
            ]
        )
    }
    assert strays == {}


def test_the_farm_imports_nothing_of_the_simulated_phone() -> None:
    """It is met as an executable and as zips, so any other emulator can take its place."""
    assert importers_of("simphone") == []
