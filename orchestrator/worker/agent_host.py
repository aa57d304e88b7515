"""Starts and removes an agent's container through the coordinator, which asks the fleet for it.

A worker has no access to a container engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.agent import AgentFault, AgentHostLost
from ..coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused
from ..coordinator.messages import AgentCommand, AgentStatus
from ..outcome import Reason


@dataclass(frozen=True)
class CoordinatorAgentHost:
    """Runs the agent of this worker's device."""

    client: CoordinatorClient

    def start(self) -> str:
        status = self._command("start")
        if status.fault == "agent":
            raise AgentFault(Reason.AGENT_NOT_STARTED, status.text)
        return status.url

    def describe_end(self) -> str:
        return self._command("describe_end").text

    def remove(self) -> None:
        self._command("remove")

    def _command(self, command: AgentCommand) -> AgentStatus:
        try:
            status = self.client.agent(command)
        except (CoordinatorAway, CoordinatorRefused) as error:
            raise AgentHostLost(str(error)) from error
        if status.fault == "farm":
            raise AgentHostLost(status.text)
        return status
