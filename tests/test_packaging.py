"""The two packages have one version, and every requirement is used and locked."""

from __future__ import annotations

import ast
import re
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


def imported(folder: Path) -> set[str]:
    """The top-level modules that code imports, and those that it names to a library."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_both_packages_the_requirement_and_the_changelog_have_one_version() -> None:
    phone = (ROOT / "simphone/src/simphone/__init__.py").read_text()
    assert f'__version__ = "{__version__}"' in phone
    wanted = (ROOT / "requirements-simphone.in").read_text().splitlines()[-1]
    assert wanted == f"{PHONE['name']} ~= {__version__}"
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("folder", "requirements"),
    [
        ("orchestrator", named("requirements.in")),
        ("simphone/src", PHONE_NEEDS),
    ],
)
def test_every_runtime_requirement_is_imported(folder: str, requirements: list[str]) -> None:
    used = imported(ROOT / folder)
    modules: dict[str, set[str]] = {}
    for module, projects in packages_distributions().items():
        for project in projects:
            modules.setdefault(normal(project), set()).add(module)
    assert [name for name in requirements if not modules[name] & used] == []


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
