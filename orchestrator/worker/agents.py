"""How does a worker come by an agent in a container? It asks the coordinator, which has the fleet
make one: a worker has no hold on any engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.agent import AgentFault, AgentHostLost
from ..coordinator.agents import AgentNews, Want
from ..coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused
from ..outcome import Reason


@dataclass(frozen=True)
class AskedFor:
    """The agent of this worker's device."""

    client: CoordinatorClient

    def start(self) -> str:
        news = self._news("fresh")
        if news.fault == "agent":
            raise AgentFault(Reason.AGENT_NOT_STARTED, news.text)
        return news.url

    def describe_end(self) -> str:
        return self._news("ended").text

    def remove(self) -> None:
        self._news("gone")

    def _news(self, want: Want) -> AgentNews:
        try:
            news = self.client.agent(want)
        except (CoordinatorAway, CoordinatorRefused) as error:
            raise AgentHostLost(str(error)) from error
        if news.fault == "farm":
            raise AgentHostLost(news.text)
        return news
