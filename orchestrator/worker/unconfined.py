"""Tells the coordinator that an attempt is about to start an agent that can reach its worker."""

from __future__ import annotations

from dataclasses import dataclass

from ..coordinator.client import CoordinatorAway, CoordinatorClient, LeaseLost
from ..episode.context import LeaseNotKept


@dataclass
class UnconfinedWarning:
    """Of one lease. What is lost after it was given may be the agent's doing."""

    client: CoordinatorClient
    token: str
    given: bool = False

    def give(self) -> None:
        try:
            self.client.unconfined(self.token)
        except (LeaseLost, CoordinatorAway) as error:
            raise LeaseNotKept(str(error)) from error
        self.given = True
