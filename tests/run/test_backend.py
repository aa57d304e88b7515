"""Which backend a run gets, and what is said of it, on a machine where no Docker engine answers."""

from __future__ import annotations

import json

import pytest

from .conftest import Farm

SMOKE = "cases/smoke"


def test_auto_is_local_and_says_why(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "1")
    assert code == 0, output
    assert "backend: local (no Docker engine answers at unix://" in output
    manifest = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert manifest["execution_mode"] == "local"


@pytest.mark.parametrize("agent", ["reference", "image:my-agent:1"])
def test_docker_names_the_command_that_starts_an_engine(farm: Farm, agent: str) -> None:
    code, output = farm.run(SMOKE, "--backend", "docker", "--agent", agent)
    assert code == 2
    assert "no Docker engine answers" in output
    assert "systemctl start docker" in output
    assert not (farm.runs / "r").exists()


def test_a_program_of_this_machine_is_no_agent_for_containers(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--backend", "docker", "--agent", "command:/bin/true")
    assert code == 2
    assert "BACKEND=local" in output


def test_a_backend_that_is_none_is_named_with_those_there_are(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--backend", "cloud")
    assert code == 2
    assert "auto, local, docker" in output
