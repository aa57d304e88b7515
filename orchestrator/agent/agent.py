"""The Agent interface: a goal first, then one action per observation; its records and faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ..device.uitree import Element
from ..errors import EmufarmError
from ..outcome import Reason


@dataclass(frozen=True)
class Observation:
    """What the agent sees. Nothing in it names the case, the variant, the seed or a path."""

    step: int  # from 0
    goal: str
    width: int
    height: int
    screenshot: bytes  # PNG
    elements: tuple[Element, ...] | None  # None: the tree could not be read
    message: str = ""  # the user's last answer, or why the last action was refused


@dataclass(frozen=True)
class AgentReply:
    """The agent's reply as it came, and what it cost."""

    raw: Any
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)


class AgentFault(EmufarmError):
    """A failure of the agent, never of the infrastructure."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class AgentHostLost(EmufarmError):
    """The farm could not run the agent's container, or lost it; never the agent's fault."""


@dataclass(frozen=True)
class AgentInfo:
    """What the evidence records about the agent."""

    name: str
    version: str = ""
    provider: str = "local"
    model_id: str | None = None
    base_url: str | None = None
    command: tuple[str, ...] = ()
    sampling: dict[str, Any] = field(default_factory=dict)
    trusted: bool = True  # it runs on the device's host


class Agent(Protocol):
    info: AgentInfo

    def start(self, goal: str, seconds: float) -> None:
        """Makes the agent ready. Raises AgentFault(agent_not_started) or AgentHostLost."""
        ...

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        """The next action, within this time. Raises AgentFault or AgentHostLost."""
        ...

    def close(self) -> None:
        """Ends everything that the agent started. Never raises."""
        ...
