"""What an agent is to the episode that runs it: a goal first, then an action per observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ..device.uitree import Element
from ..errors import EmufarmError
from ..outcome import Reason


@dataclass(frozen=True)
class Observation:
    """What the agent is shown. Nothing in it names the case, the variant, the seed or a path."""

    step: int  # from 0
    goal: str
    width: int
    height: int
    screenshot: bytes  # PNG
    elements: tuple[Element, ...] | None  # None: the tree could not be read
    message: str = ""  # the user's last answer, or why the last action was refused


@dataclass(frozen=True)
class AgentReply:
    """What the agent said, as it said it."""

    raw: Any
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)


class AgentFault(EmufarmError):
    """The agent did not do its part; never the infrastructure's fault."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class AgentHostLost(EmufarmError):
    """We could not give the agent its place, or took it away; never the agent's fault."""


@dataclass(frozen=True)
class AgentInfo:
    """What a result must say of the agent behind it."""

    name: str
    version: str = ""
    provider: str = "local"
    model_id: str | None = None
    base_url: str | None = None
    command: tuple[str, ...] = ()
    sampling: dict[str, Any] = field(default_factory=dict)
    trusted: bool = True  # it runs with the device's host


class Agent(Protocol):
    info: AgentInfo

    def start(self, goal: str, seconds: float) -> None:
        """Ready to act, or AgentFault(agent_not_started), or AgentHostLost."""
        ...

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        """The next action, within its time; AgentFault or AgentHostLost where there is none."""
        ...

    def close(self) -> None:
        """Everything it started is gone; never raises."""
        ...
