"""The two packages have one version, and every requirement is used and locked."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from orchestrator import __version__

ROOT = Path(__file__).parents[1]
PHONE = tomllib.loads((ROOT / "simphone/pyproject.toml").read_text())["project"]


def normal(requirement: str) -> str:
    """The project's name, without version and marker."""
    return re.sub(r"[-_.]+", "-", re.split(r"[ =<>~!;\[]", requirement)[0]).lower()


def named(file: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / file).read_text().splitlines())
    return [normal(line) for line in lines if line[:1].isalpha()]


PHONE_NEEDS = [normal(requirement) for requirement in PHONE["dependencies"]]


def import_statements(folder: Path) -> set[str]:
    """The top-level modules that code imports by a statement."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found


def texts(folder: Path) -> set[str]:
    """All texts in code, among them the modules that it names to a library."""
    return {
        node.value
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def projects_of(module: str) -> set[str]:
    """The installed projects that bring a top-level module."""
    return {normal(project) for project in packages_distributions().get(module, [])}


def test_both_packages_the_requirement_and_the_changelog_have_one_version() -> None:
    phone = (ROOT / "simphone/src/simphone/__init__.py").read_text()
    assert f'__version__ = "{__version__}"' in phone
    wanted = (ROOT / "requirements-simphone.in").read_text().splitlines()[-1]
    assert wanted == f"{PHONE['name']} ~= {__version__}"
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


PACKAGES = pytest.mark.parametrize(
    ("folder", "requirements"),
    [("orchestrator", named("requirements.in")), ("simphone/src/simphone", PHONE_NEEDS)],
)


@PACKAGES
def test_every_runtime_requirement_is_imported(folder: str, requirements: list[str]) -> None:
    used = import_statements(ROOT / folder) | texts(ROOT / folder)
    modules: dict[str, set[str]] = {}
    for module, projects in packages_distributions().items():
        for project in projects:
            modules.setdefault(normal(project), set()).add(module)
    assert [name for name in requirements if not modules[name] & used] == []


@PACKAGES
def test_every_imported_module_belongs_to_a_declared_requirement(
    folder: str, requirements: list[str]
) -> None:
    """That another requirement happens to bring it is no promise."""
    ours = {Path(folder).name, "_typeshed"}  # the latter is there for type checkers alone
    foreign = import_statements(ROOT / folder) - sys.stdlib_module_names - ours
    assert foreign
    assert [name for name in sorted(foreign) if not projects_of(name) & set(requirements)] == []


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_every_runtime_requirement_is_locked(lock: str) -> None:
    wanted = {*named("requirements.in"), *PHONE_NEEDS}
    assert wanted <= set(named(lock))


def test_pre_commit_runs_what_make_lint_runs() -> None:
    (recipe,) = re.findall(
        r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    linted = [line.strip().removeprefix("@").replace("$(BIN)", ".venv/bin")
              for line in recipe.splitlines()]  # fmt: skip
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    assert [re.sub(r"^sh -c '(.*)'$", r"\1", entry) for entry in hooks] == linted
