"""The coordinator in its Pod, where the API server does not answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.follow import AdminClient
from orchestrator.errors import RunInterrupted
from orchestrator.farm.cluster.coordinate import PodArguments, PodCoordinator
from orchestrator.farm.run_events import ignore
from orchestrator.fleet.kubernetes.access import ClusterAccess, kubeconfig_access
from tests.ports import even_port

SECRETS = Secrets(WorkerKey("a key"), "an admin")


@pytest.fixture
def coordinator(tmp_path: Path) -> PodCoordinator:
    """Of a run whose cluster nobody answers for."""
    config = tmp_path / "config"
    config.write_text(json.dumps({
        "current-context": "gone",
        "clusters": [{"name": "gone", "cluster": {"server": "https://127.0.0.1:9"}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "a-token"}}],
    }))  # fmt: skip
    return a_coordinator(tmp_path, even_port(), kubeconfig_access(kubeconfig=config))


def a_coordinator(
    place: Path, port: int, access: ClusterAccess, *, run: str = "a-run", serve_only: bool = False
) -> PodCoordinator:
    url = f"http://127.0.0.1:{port}"
    arguments = PodArguments(run, url, place, place, port, 60.0, 0.1, serve_only=serve_only)
    return PodCoordinator(arguments, SECRETS, access, ignore)


async def test_why_the_api_server_does_not_answer_is_told_to_the_command_that_waits(
    coordinator: PodCoordinator,
) -> None:
    asked = asyncio.Event()
    running = asyncio.create_task(coordinator.run(asked))
    url, state = coordinator._arguments.url, {"trouble": ""}
    with AdminClient.at(url, SECRETS.admin, away_s=10.0) as client:
        async with asyncio.timeout(30):
            while not state["trouble"]:
                state = await asyncio.to_thread(client.intake)
                await asyncio.sleep(0.05)
    assert "does not answer: ConnectError" in state["trouble"]
    assert not state["checked"]
    asked.set()
    with pytest.raises(RunInterrupted):
        await asyncio.wait_for(running, 30)


async def test_a_coordinator_that_is_asked_to_stop_does_not_wait_for_the_api_server(
    tmp_path: Path, coordinator: PodCoordinator
) -> None:
    (tmp_path / "a-run").mkdir()
    (tmp_path / "a-run" / "plan.json").write_text("{}")  # its documents are there
    asked = asyncio.Event()
    running = asyncio.create_task(coordinator.run(asked))
    await asyncio.sleep(0.2)
    asked.set()
    with pytest.raises(RunInterrupted, match="the API server was away"):
        await asyncio.wait_for(running, 10)
