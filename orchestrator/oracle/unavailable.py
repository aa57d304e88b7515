"""Questions that need what no phone of ours has. They stand in cases, and nobody answers them.

The query is refused before it is put (query_runner.py) and names what is missing: never a no.
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
    notes: tuple[str, ...] = ("not asked at all where the phone lacks what would know",)
    behind: tuple[str, ...] = ()
    tentative: bool = False

    @property
    def _capability(self) -> str:
        return CAPABILITIES[self.question.kind]

    @property
    def needs(self) -> tuple[str, ...]:
        return (self._capability,)

    def inquire(self) -> Inquiry:
        yield Query(self._capability, 0, path=self.question.kind)
        raise NoAnswer(f"nobody reads a {self._capability}")

    def decide(self, facts: Json) -> Decision:
        return Decision(None, f"nobody reads a {self._capability}")
