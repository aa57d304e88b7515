"""The actions that an agent can take, in their normalized form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = (
    "tap", "long_press", "swipe", "type", "key", "open_app", "wait", "answer", "ask_user",
    "confirm", "refuse", "done",
)  # fmt: skip


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
        body: dict[str, Any] = {"action": self.kind}
        if self.kind in ("tap", "long_press"):
            body |= {"x": self.x, "y": self.y}
        elif self.kind == "swipe":
            body |= {"start": [self.x, self.y], "end": [self.end_x, self.end_y]}
        elif self.kind == "wait":
            body |= {"seconds": self.seconds}
        elif self.kind == "done":
            body |= {"success": self.success}
        else:
            body |= {"text": self.text}
        return body


@dataclass(frozen=True)
class NormalizedAction:
    """An action, and what was unusual about how the agent wrote it."""

    action: Action
    warnings: tuple[str, ...] = ()


class BadAction(Exception):
    """The agent's reply is not an action; the text tells the agent what is wrong."""
