"""A job: one run, and all that it is executed with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..agent.confinement import Confinement, Unconfined, confinement
from ..agent.spec import command_of
from ..pins.profile import Profile
from ..plan.plan import Plan
from ..settings import RunSettings
from .backends import ChosenBackend

ASKING_S = 60.0  # for a worker to find its device gone, once its agent has answered


@dataclass(frozen=True)
class Job:
    run: Path
    plan: Plan
    settings: RunSettings
    profile: Profile
    backend: ChosenBackend
    devices: int  # at most; no more than there are undecided episodes
    unmasked: str = field(
        default="", repr=False
    )  # the agent's spec where the plan's is masked; never written or printed

    @property
    def agent(self) -> str:
        """The spec that is started."""
        return self.unmasked or self.plan.agent

    @property
    def confinement(self) -> Confinement | Unconfined | None:
        """Of a command agent on this host, which is its worker's too; None for others."""
        command = command_of(self.plan.agent)
        hidden = (self.run.absolute().parent,)
        return confinement(command, hidden, self.settings.agent_ports) if command else None

    @property
    def linger_s(self) -> float:
        """How long a device that ended waits to be asked how it ended. An agent that switched it
        off from within may think for its whole budget first; a device that could not be asked by
        then would count as lost by the host, and the agent would get another attempt."""
        longest = max(case.case["budget"]["seconds"] for case in self.plan.cases)
        return float(longest) + ASKING_S
