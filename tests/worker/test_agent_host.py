"""A worker asks the coordinator for an agent's container, and the fleet makes it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.agent.agent import AgentFault, AgentHostLost
from orchestrator.coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused
from orchestrator.coordinator.messages import AgentCommand, AgentStatus
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.outcome import Reason
from orchestrator.worker.agent_host import CoordinatorAgentHost
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_plan

ASK = {"command": "start"}


class Fleet:
    """Answers the same to everything, and remembers what it was asked."""

    def __init__(self, status: AgentStatus) -> None:
        self.status = status
        self.asked: list[tuple[str, AgentCommand]] = []

    async def agent(self, device: str, command: AgentCommand) -> AgentStatus:
        self.asked.append((device, command))
        return self.status


async def test_a_worker_gets_its_own_devices_agent(served: Served) -> None:
    fleet = served.coordinator.agents = Fleet(AgentStatus(url="http://10.0.0.2:8080/", text="well"))
    with served.client("slot-00.1") as client:
        host = CoordinatorAgentHost(client)
        assert await aside(host.start) == "http://10.0.0.2:8080/"
        assert await aside(host.describe_end) == "well"
        await aside(host.remove)
    assert fleet.asked == [
        ("slot-00.1", command) for command in ("start", "describe_end", "remove")
    ]


async def test_whose_fault_it_is_comes_through(served: Served) -> None:
    with served.client("slot-00.1") as client:
        host = CoordinatorAgentHost(client)
        served.coordinator.agents = Fleet(AgentStatus(text="no such program", fault="agent"))
        with pytest.raises(AgentFault, match="no such program") as fault:
            await aside(host.start)
        assert fault.value.reason is Reason.AGENT_NOT_STARTED
        served.coordinator.agents = Fleet(AgentStatus(text="the engine is away", fault="farm"))
        for ask in (host.start, host.describe_end, host.remove):
            with pytest.raises(AgentHostLost, match="the engine is away"):
                await aside(ask)


async def test_a_fleet_without_containers_has_none(served: Served) -> None:
    with served.client("slot-00.1") as client:
        with pytest.raises(CoordinatorRefused, match="need a fleet of containers"):
            await aside(client.agent, "start")
        with pytest.raises(AgentHostLost):
            await aside(CoordinatorAgentHost(client).start)


async def test_a_worker_that_is_older_than_its_coordinator_asks_again_until_the_fleet_is_up(
    tmp_path: Path,
) -> None:
    """A successor answers before it has adopted the Pods; that costs no attempt."""
    plan = replace(a_plan(1), agent="image:mine@sha256:" + "0" * 64)
    async with (
        open_run(tmp_path / "one", plan, SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        secret = SECRETS.workers.secret("slot-00.1")
        with (
            CoordinatorClient(url, secret, worker="w", away_s=0.0) as client,
            pytest.raises(CoordinatorAway, match="fleet is not up yet"),
        ):
            await aside(client.agent, "start")
        with CoordinatorClient(url, secret, worker="w", away_s=60.0) as client:
            asking = asyncio.create_task(aside(client.agent, "start"))
            await asyncio.sleep(0.1)  # it has asked in vain by then, or asks now
            coordinator.agents = Fleet(AgentStatus(text="well"))
            assert (await asking).text == "well"


async def test_only_a_workers_secret_and_a_known_word_are_heard(served: Served) -> None:
    served.coordinator.agents = Fleet(AgentStatus())
    async with served.http(SECRETS.admin) as http:
        assert (await http.post("/v1/agent", json=ASK)).status_code == 401
    async with served.http(SECRETS.workers.secret("slot-00.1")) as http:
        answer = await http.post("/v1/agent", json={**ASK, "command": "shell"})
    assert answer.status_code == 400
