"""Which backend a run gets, and how it is reported, on a machine without a Docker engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.conftest import Farm

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


def test_auto_takes_no_engine_for_an_agent_that_no_container_reaches(farm: Farm) -> None:
    """On an engine it would be asked for in the worker's container, and blamed for its absence."""
    code, output = farm.run(
        SMOKE, "--devices", "1", "--agent", "http://127.0.0.1:9", "--backend", "auto"
    )
    assert "backend: local ('http://127.0.0.1:9' is the worker's own container" in output
    assert code == 0, output


def test_a_program_of_this_machine_is_no_agent_for_containers(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--backend", "docker", "--agent", "command:/bin/true")
    assert code == 2
    assert "BACKEND=local" in output


def test_a_backend_that_is_none_is_named_with_those_there_are(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--backend", "cloud")
    assert code == 2
    assert "auto, local, docker" in output


@pytest.mark.parametrize(
    ("backend", "words"),
    [("local", "pixel-api34 is no simulated phone"), ("auto", "no Docker engine answers")],
)
def test_a_real_phones_profile_never_gets_a_simulated_one(
    farm: Farm, backend: str, words: str
) -> None:
    code, output = farm.run(SMOKE, "--profile", "pixel-api34", "--backend", backend)
    assert code == 2
    assert words in output
    assert not (farm.runs / "r").exists()


def test_a_run_takes_the_profile_it_is_told(farm: Farm, tmp_path: Path) -> None:
    mine = tmp_path / "images" / "my-phone"
    mine.mkdir(parents=True)
    text = Path("images/sim-api34/profile.yaml").read_text()
    (mine / "profile.yaml").write_text(text.replace("name: sim-api34", "name: my-phone"))
    told = replace(farm, env={**farm.env, "EMUFARM_IMAGES": str(mine.parent)})
    code, output = told.run(SMOKE, "--profile", "my-phone", "--backend", "local")
    assert code == 0, output
    assert json.loads((farm.runs / "r" / "plan.json").read_text())["profile"] == "my-phone"
