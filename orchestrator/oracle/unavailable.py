"""Oracles that need a capability which no phone of ours has; they are never answered.

The query is refused before it is sent (query_runner.py), with the name of the missing capability.
That is never a negative answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.oracles import SimpleQuestion
from ..device.capabilities import CLIPBOARD, LISTENER, PROXY
from ..events.canonical import Json
from .oracle import Decision, Inquiry, NoAnswer, Query

CAPABILITIES = {
    "clipboard": CLIPBOARD,
    "notification_listener": LISTENER,
    "network_proxy": PROXY,
}


@dataclass(frozen=True)
class UnavailableOracle:
    question: SimpleQuestion
    asked: object
    notes: tuple[str, ...] = ("not asked if the phone lacks the capability",)
    depends_on: tuple[str, ...] = ()
    tentative: bool = False

    @property
    def _capability(self) -> str:
        return CAPABILITIES[self.question.kind]

    @property
    def needs(self) -> tuple[str, ...]:
        return (self._capability,)

    def inquire(self) -> Inquiry:
        yield Query(self._capability, 0, path=self.question.kind)
        raise NoAnswer(f"no oracle reads {self._capability}")

    def decide(self, facts: Json) -> Decision:
        return Decision(None, f"no oracle reads {self._capability}")
