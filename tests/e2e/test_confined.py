"""A `command:` agent under bubblewrap and slirp4netns, and the same one without.

As root it installs Debian's packages of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import create_server, socket
from typing import Any

import pytest

from orchestrator.agent.confinement import Unconfined, confinement
from orchestrator.coordinator.transitions import UnconfinedAgent
from tests.e2e.engine import NoEngine, install
from tests.run.conftest import Farm, ended
from tests.run.test_unconfined import ADB_AGENT

pytestmark = pytest.mark.e2e

SMOKE = "cases/smoke"
PACKAGES = {"bwrap": "bubblewrap", "slirp4netns": "slirp4netns"}
HOSTILE = Path(__file__).with_name("hostile_agent.py")


@pytest.fixture(scope="session")
def confining() -> None:
    """This machine can confine an agent; else it is said why not."""
    try:
        install(PACKAGES)
    except NoEngine as error:
        pytest.skip(str(error))
    found = confinement((sys.executable, str(HOSTILE)))
    if isinstance(found, Unconfined):
        pytest.skip(found.sentence)


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two listeners on this machine's loopback."""
    with listener() as one, listener() as other:
        yield one.getsockname()[1], other.getsockname()[1]


def listener() -> socket:
    return create_server(("127.0.0.1", 0), backlog=64)


def able(farm: Farm) -> Farm:
    """It confines its agents, where other tests' farms do not. Nothing is removed."""
    farm.env["PATH"] = os.environ["PATH"]
    return farm


def found_by_hostile(farm: Farm, ports: tuple[int, int], *words: str) -> dict[str, Any]:
    program = farm.runs.parent / "program"
    program.mkdir()
    shutil.copy(HOSTILE, program)
    spec = f"command:{sys.executable} {program / HOSTILE.name} {farm.runs} {ports[0]} {ports[1]}"
    process = farm.start(
        "run", SMOKE, "--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", spec,
        *words,
    )  # fmt: skip
    code, output = ended(process)
    assert code == 0, output
    found = json.loads(answer_in(farm))
    found["output"] = output
    return dict(found)


def answer_in(farm: Farm) -> str:
    (trace,) = (farm.runs / "r" / "episodes").glob("*/attempt-1-c1/action_trace.jsonl")
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    (text,) = [e["action"]["text"] for e in events if e["action"]["action"] == "answer"]
    return str(text)


def test_a_confined_agent_finds_no_way_out(
    confining: None, farm: Farm, ports: tuple[int, int]
) -> None:
    """It sees no process of others, no plan, no port but the one that is let through; its own
    folder it may write, and its program it may not. Killing the first process does nothing."""
    found = found_by_hostile(able(farm), ports, "--agent-port", str(ports[0]))
    assert "agent: the agent is confined; it reaches 127.0.0.1:" in found.pop("output")
    assert found == {
        "workers": 0, "environments": False, "plans": 0, "port": True,
        "other": False, "past": [], "signalled": False, "traced": 0, "home": True, "script": False,
    }  # fmt: skip
    manifest = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert manifest["agent"]["confinement"] == {"confined": True, "ports": [ports[0]]}
    assert manifest["agent"]["trusted_with_host"] is False
    assert farm.report()["unconfined"] == 0
    assert not [event for event in farm.events() if isinstance(event, UnconfinedAgent)]


def test_an_unconfined_agent_finds_what_it_looks_for_and_the_run_says_so(
    farm: Farm, ports: tuple[int, int]
) -> None:
    found = found_by_hostile(farm, ports)
    first = found.pop("output").splitlines()[:6]
    assert [line for line in first if "runs unconfined here (no namespaces here" in line]
    assert found["workers"] > 0
    assert (found["plans"], found["other"], found["signalled"]) == (1, True, True)
    manifest = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert manifest["agent"]["confinement"]["confined"] is False
    assert "apt-get install bubblewrap slirp4netns" in manifest["agent"]["confinement"]["why"]
    assert farm.report()["unconfined"] == 1
    assert [event for event in farm.events() if isinstance(event, UnconfinedAgent)]


def test_a_confined_agent_finds_no_adb_to_cheat_with(confining: None, farm: Farm) -> None:
    code, output = able(farm).run(SMOKE, "--devices", "1", "--agent", ADB_AGENT)
    assert code == 0, output
    assert set(farm.outcomes().values()) == {"task_failed"}


def test_the_example_agent_plays_confined_as_well(confining: None, farm: Farm) -> None:
    code, output = able(farm).run(
        SMOKE, "--devices", "1", "--agent", "command:python3 examples/command_agent.py"
    )
    assert code == 0, output
    (episode,) = farm.report()["episodes"]
    assert episode["final"]["outcome"] in ("success", "task_failed")
    assert episode["spent"]["steps"] >= 1
    assert farm.report()["unconfined"] == 0
