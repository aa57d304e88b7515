"""The built wheels, installed into an empty environment, work in an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.locks import wait_lock
from tests.run.conftest import ROOT

pytestmark = pytest.mark.e2e

UV = Path(sys.executable).parent / "uv"
COMMAND_S = 300


def done(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """The standard output of a command that must succeed."""
    ended = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@contextmanager
def once(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder for all processes of a session, and whether this one must fill it."""
    shared = tmp_path_factory.getbasetemp()
    place = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / name
    with wait_lock(place.with_suffix(".lock"), COMMAND_S, lambda: None):
        ready = place / "ready"
        place.mkdir(exist_ok=True)
        yield place, not ready.exists()
        ready.touch()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    with once(tmp_path_factory, "wheels") as (place, empty):
        if empty:
            build(place)
    return sorted((place / "dist").glob("*.whl"))


def build(place: Path) -> None:
    """From source archives of a copy: neither a file that git ignores nor an earlier build is in
    the wheels."""
    source, out = place / "source", place / "dist"
    listed = done("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT)
    for name in listed.split("\0")[:-1]:
        if (ROOT / name).is_file():  # one that was removed and not yet committed is listed too
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    for project in (source, source / "simphone"):
        words = ("build", "--quiet", "--no-build-isolation", "--python", sys.executable)
        done(UV, *words, "--out-dir", out, project, cwd=place)


def locked(lock: str) -> list[str]:
    """The lock's versions, without its hashes: the wheels just built have none."""
    lines = (ROOT / lock).read_text().splitlines()
    return [line.removesuffix("\\").strip() for line in lines if line[:1].isalnum()]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheels and what they require, and an empty folder to work in."""

    bin: Path
    folder: Path
    env: dict[str, str]

    def emufarm(self, *words: str) -> str:
        return done(self.bin / "emufarm", *words, cwd=self.folder, env=self.env)


@pytest.fixture(scope="module")
def installed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    with once(tmp_path_factory, "installed") as (place, empty):
        if empty:
            install(wheels, place)
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "EMUFARM_CACHE": str(place / "cache")}
    return Installed(place / "venv" / "bin", tmp_path_factory.mktemp("empty"), env)


def install(wheels: list[Path], place: Path) -> None:
    python = place / "venv" / "bin" / "python"
    done(UV, "venv", "--quiet", "--python", sys.executable, place / "venv", cwd=place)
    command = (UV, "pip", "install", "--quiet", "--no-build-isolation", "--python", python)
    done(*command, "--require-hashes", "-r", ROOT / "requirements-build.txt", cwd=place)
    # The wheels' metadata says what is installed, and the lock only in which version.
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(locked("requirements.txt")))
    done(*command, "--constraint", constraints, *wheels, cwd=place)


def test_a_run_in_an_empty_folder_takes_the_shipped_cases_and_can_be_verified(
    installed: Installed,
) -> None:
    words = ("run", "--backend", "local", "--devices", "1", "-k", "sms_reply", "--run", "first")
    printed = installed.emufarm(*words)
    assert "/orchestrator/data/cases/public" in printed.splitlines()[0]
    assert [path.name for path in installed.folder.iterdir()] == ["runs"]
    report = json.loads((installed.folder / "runs/first/report.json").read_text())
    assert report["complete"] is True
    assert {row["final"]["outcome"] for row in report["episodes"]} == {"success"}
    assert "verified: 2 episodes" in installed.emufarm("verify", "first")


def test_a_folder_of_the_users_own_comes_before_the_shipped_one(
    installed: Installed, tmp_path: Path
) -> None:
    listed = installed.emufarm("cases", "list", "cases/smoke")
    assert "1 case" in listed
    mine = tmp_path / "cases" / "smoke" / "mine"
    mine.mkdir(parents=True)
    text = (ROOT / "cases/smoke/wifi_off/case.yaml").read_text()
    (mine / "case.yaml").write_text(text.replace("wifi_off", "mine"))
    command = (installed.bin / "emufarm", "cases", "list", "cases/smoke")
    assert "mine" in done(*command, cwd=tmp_path, env=installed.env)


def test_the_wheel_brings_profiles_schemas_and_what_images_are_built_from(
    installed: Installed, wheels: list[Path]
) -> None:
    assert '"title"' in installed.emufarm("schema", "case")
    (wheel,) = (path for path in wheels if path.name.startswith("emufarm-"))
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("images/pixel-api34/profile.yaml", "Dockerfile.emulator", "images/start.py",
                 "images/worker/Dockerfile", "requirements.txt", "setup.py"):  # fmt: skip
        assert f"orchestrator/data/{name}" in names


def test_the_environment_of_a_wheel_has_no_test_tools(installed: Installed) -> None:
    listed = json.loads(
        done(
            UV, "pip", "list", "--format", "json", "--python", installed.bin / "python",
            cwd=installed.folder,
        )
    )  # fmt: skip
    names = {package["name"] for package in listed}
    ours = {"emufarm", "emufarm-simphone"}
    assert ours < names
    assert not names & {"scipy", "mypy", "pytest", "uvloop"}
    known = [*locked("requirements.txt"), *locked("requirements-build.txt")]
    assert names - ours <= {line.partition("==")[0] for line in known}
