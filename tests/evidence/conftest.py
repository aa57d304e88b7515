"""A run as the farm writes it, with every kind of line and no mistakes."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.run.conftest import Farm

CASE = """
id: talkative
tags: [test]
goal: Make it good.
budget: {steps: 9, seconds: 60}
success: [{name: good, setting: {namespace: system, name: good, equals: "1"}}]
forbidden: [{name: bad, setting: {namespace: system, name: bad, equals: "1"}}]
user:
  - {when: which, answer: The second one.}
  - {when: pay, grant: true}
solution: [{done: true}]
near_miss: [{done: true}]
"""
AGENT = """
import json, sys
SAYS = [
    {"action": "open_app", "app": "settings"},
    {"action": "tap", "x": 540, "y": 1200},
    {"action": "swipe", "start": [500, 1500], "end": [500, 900]},
    {"action": "ask_user", "text": "which?"},
    {"action": "confirm", "text": "May I pay?"},
    {"action": "wait", "seconds": 0.01},
    {"action": "fly"},
    {"action": "answer", "text": "42"},
    {"action": "done"},
]
for line in sys.stdin:
    said = json.loads(line)
    hello = said["type"] == "hello"
    print(json.dumps({"type": "ready"} if hello else SAYS[said["step"]]), flush=True)
"""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode on one phone, for all workers of this test session; not to be changed."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "recorded"
    with (shared / "recorded.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            record(shared / "recording", shared / "cache")
            (shared / "recording" / "runs" / "r").rename(folder)
    return folder


def record(folder: Path, cache: Path) -> None:
    case, program, scratch = (
        folder / "cases/talkative/case.yaml",
        folder / "agent.py",
        folder / "tmp",
    )
    case.parent.mkdir(parents=True)
    case.write_text(CASE)
    program.write_text(AGENT)
    scratch.mkdir()
    env = {**os.environ, "EMUFARM_CACHE": str(cache), "TMPDIR": str(scratch)}
    agent = f"command:{sys.executable} {program}"
    farm = Farm(folder / "runs", env)
    code, output = farm.run(folder / "cases", "--devices", "1", "--agent", agent)
    assert code == 0, output


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    for name in ("run_manifest.json", "env_capabilities.json"):
        shutil.copy(recorded / name, tmp_path / name)
    shutil.copytree(recorded / "episodes", tmp_path / "episodes")
    return tmp_path


@pytest.fixture
def bundle(run: Path) -> Path:
    (found,) = run.glob("episodes/*/attempt-1-c1")
    return found
