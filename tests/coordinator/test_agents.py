"""Workers ask for agents in containers where they ask for all else; the fleet makes them."""

from __future__ import annotations

import pytest

from orchestrator.agent.agent import AgentFault, AgentHostLost
from orchestrator.coordinator.agents import AgentNews, Want
from orchestrator.coordinator.client import CoordinatorRefused
from orchestrator.outcome import Reason
from orchestrator.worker.agents import AskedFor
from tests.coordinator.conftest import SECRETS, Served, aside

ASK = {"device": "slot-00.1", "want": "fresh"}


class Fleet:
    """Answers the same to everything, and remembers what it was asked."""

    def __init__(self, news: AgentNews) -> None:
        self.news = news
        self.asked: list[tuple[str, Want]] = []

    async def agent(self, device: str, want: Want) -> AgentNews:
        self.asked.append((device, want))
        return self.news


async def test_a_worker_gets_its_own_devices_agent(served: Served) -> None:
    fleet = served.coordinator.agents = Fleet(AgentNews(url="http://10.0.0.2:8080/", text="well"))
    with served.client("slot-00.1") as client:
        host = AskedFor(client)
        assert await aside(host.start) == "http://10.0.0.2:8080/"
        assert await aside(host.describe_end) == "well"
        await aside(host.remove)
    assert fleet.asked == [("slot-00.1", want) for want in ("fresh", "ended", "gone")]


async def test_whose_fault_it_is_comes_through(served: Served) -> None:
    with served.client("slot-00.1") as client:
        host = AskedFor(client)
        served.coordinator.agents = Fleet(AgentNews(text="no such program", fault="agent"))
        with pytest.raises(AgentFault, match="no such program") as fault:
            await aside(host.start)
        assert fault.value.reason is Reason.AGENT_NOT_STARTED
        served.coordinator.agents = Fleet(AgentNews(text="the engine is away", fault="farm"))
        for ask in (host.start, host.describe_end, host.remove):
            with pytest.raises(AgentHostLost, match="the engine is away"):
                await aside(ask)


async def test_a_fleet_without_containers_has_none(served: Served) -> None:
    with served.client("slot-00.1") as client:
        with pytest.raises(CoordinatorRefused, match="need a fleet of containers"):
            await aside(client.agent, "fresh")
        with pytest.raises(AgentHostLost):
            await aside(AskedFor(client).start)


async def test_only_the_workers_secret_and_a_known_word_are_heard(served: Served) -> None:
    served.coordinator.agents = Fleet(AgentNews())
    async with served.http(SECRETS.admin) as http:
        assert (await http.post("/v1/agent", json=ASK)).status_code == 401
    async with served.http(SECRETS.worker) as http:
        answer = await http.post("/v1/agent", json={**ASK, "want": "shell"})
    assert answer.status_code == 400
