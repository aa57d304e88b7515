"""Where a worker runs its agents: in a container that the fleet makes, or confined on its own host.

A worker has no access to a container engine, so that it asks the coordinator for containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..agent.agent import AgentFault, AgentHostLost
from ..agent.confinement import Confinement, confinement
from ..coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused
from ..coordinator.messages import AgentCommand, AgentStatus
from ..outcome import Reason


def confined(staging: Path, ports: Sequence[int], command: tuple[str, ...]) -> Confinement | None:
    """How a command is confined on this host; None where that is impossible. The folder of all runs
    is hidden from it: staging is RUNS/run/staging/slot."""
    found = confinement(command, tuple(staging.absolute().parents[2:3]), tuple(ports))
    return found if isinstance(found, Confinement) else None


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
