"""Who runs an agent that comes in an image? The fleet; workers ask for it here, as for all else.

A container of its own for every attempt, so that nothing of one attempt is left for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Want = Literal["fresh", "ended", "gone"]


@dataclass(frozen=True)
class AgentNews:
    """What became of it: where it is, or how it ended; and whose fault it is that it is not."""

    url: str = ""
    text: str = ""
    fault: Literal["", "agent", "farm"] = ""


class Agents(Protocol):
    async def agent(self, device: str, want: Want) -> AgentNews:
        """`fresh`: a new one for this device, whatever there was before. `ended`: how it ended, or
        that it did not. `gone`: nothing of it is left."""
        ...
