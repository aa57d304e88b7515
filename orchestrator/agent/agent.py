"""The Agent interface: a goal first, then one Action per Observation; these records, and faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ..device.uitree import Bounds, Element
from ..errors import EmufarmError
from ..outcome import Reason

KINDS = (
    "tap", "long_press", "swipe", "type", "key", "open_app", "wait", "answer", "ask_user",
    "confirm", "refuse", "done",
)  # fmt: skip


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

    def visible_part(self, element: Element) -> Bounds | None:
        """The part of the element that is on the screen; None where there is none."""
        at = element.bounds
        right, bottom = min(self.width, at.right), min(self.height, at.bottom)
        part = Bounds(max(0, at.left), max(0, at.top), right, bottom)
        return None if part.empty else part


@dataclass(frozen=True)
class Action:
    """A normalized action: positions are pixels, elements are resolved."""

    kind: str
    x: int | None = None
    y: int | None = None
    end_x: int | None = None
    end_y: int | None = None
    text: str = ""  # to type, answer, ask, confirm or refuse; the name of a key or an app
    seconds: float = 0.0  # of a wait
    success: bool = True  # of done: what the agent believes

    def as_json(self) -> dict[str, Any]:
        """The action as JSON, without the fields that its kind does not use."""
        point = {"x": self.x, "y": self.y}
        fields: dict[str, dict[str, Any]] = {
            "tap": point,
            "long_press": point,
            "swipe": {"start": [self.x, self.y], "end": [self.end_x, self.end_y]},
            "wait": {"seconds": self.seconds},
            "done": {"success": self.success},
        }
        return {"action": self.kind, **fields.get(self.kind, {"text": self.text})}


@dataclass(frozen=True)
class AgentReply:
    """The agent's reply as it came, and what it cost."""

    raw: Any
    tokens_in: int | None = None
    tokens_out: int | None = None


class AgentFault(EmufarmError):
    """A failure of the agent, never of the infrastructure."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


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
    unconfined: bool = False  # a program with all the rights of the worker's own user


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
