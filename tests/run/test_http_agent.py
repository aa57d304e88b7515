"""A whole run with an agent that is called over HTTP and not trusted with this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.ports import even_port
from tests.run.conftest import PATIENCE_S, ROOT, Farm

PROGRAM = ROOT / "examples" / "agent_image" / "agent.py"


@pytest.fixture
def url() -> Iterator[str]:
    """The example's, which knows one attempt."""
    port = even_port()
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], env={**os.environ, "PORT": str(port)},
        stderr=subprocess.DEVNULL,
    ) as program:  # fmt: skip
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not listens(port):
                assert program.poll() is None
                assert time.monotonic() < deadline
            yield f"http://127.0.0.1:{port}/"
        finally:
            program.kill()


def listens(port: int) -> bool:
    with socket.socket() as wire:
        return wire.connect_ex(("127.0.0.1", port)) == 0


def test_the_example_plays_the_smoke_case_over_http(farm: Farm, url: str) -> None:
    code, output = farm.run("cases/smoke", "--devices", "1", "--agent", url, "--backend", "local")
    assert code == 0, output
    assert set(farm.outcomes().values()) == {"success"}
    told = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert (told["agent"]["url"], told["agent"]["trusted_with_host"]) == (url, False)
    assert "cannot see" in told["inference"]["why"]
    (trace,) = (farm.runs / "r" / "episodes").glob("*/attempt-1-c1/agent_call_trace.jsonl")
    call = json.loads(trace.read_text().splitlines()[0])
    assert (call["agent_name"], call["provider"], call["base_url"]) == ("wifi-off", "http", url)


def test_an_agent_that_is_not_there_fails_its_episodes_and_costs_no_phone(farm: Farm) -> None:
    url = f"http://127.0.0.1:{even_port()}/"
    code, output = farm.run("cases/smoke", "--devices", "1", "--agent", url, "--backend", "local")
    assert code == 0, output
    (episode,) = farm.report()["episodes"]
    assert episode["final"]["outcome"] == "agent_failed"
    assert len(list((farm.runs / "r" / "episodes").glob("*/attempt-*"))) == 1


def test_an_image_needs_a_backend_with_containers(farm: Farm) -> None:
    words = ("--agent", "image:my-agent:1", "--backend", "local")
    code, output = farm.run("cases/smoke", *words)
    assert code == 2
    assert "use BACKEND=docker" in output
    assert not farm.runs.exists()


def test_the_example_is_one_that_fits_on_a_page() -> None:
    assert len(PROGRAM.read_text().splitlines()) < 40
