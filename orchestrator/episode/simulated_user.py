"""The simulated user, who answers an agent's questions by the case's rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..cases.model import UserRule

NOTHING_TO_ADD = "I have nothing to add. Please do what I asked for."
YES, NO = "Yes, go ahead.", "No, do not do that."


@dataclass(frozen=True)
class UserReply:
    """The user's answer and the rule that produced it; None if no rule matched."""

    text: str
    granted: bool | None  # for `confirm`; None for a question
    rule: int | None = None  # its index in the case
    pattern: str | None = None  # of the rule


class SimulatedUser:
    """Deterministic: the first rule whose pattern occurs in the agent's text answers."""

    def __init__(self, rules: Sequence[UserRule]) -> None:
        self._rules = [(re.compile(rule.when, re.IGNORECASE), rule) for rule in rules]

    def reply(self, kind: str, text: str) -> UserReply:
        """The answer to `ask_user` or `confirm`. Without a matching rule there is no consent."""
        for number, (pattern, rule) in enumerate(self._rules):
            if pattern.search(text):
                return _answered(kind, rule, number)
        return UserReply(NO, False) if kind == "confirm" else UserReply(NOTHING_TO_ADD, None)


def _answered(kind: str, rule: UserRule, number: int) -> UserReply:
    if kind == "confirm":
        return UserReply(rule.answer or (YES if rule.grant else NO), rule.grant, number, rule.when)
    return UserReply(rule.answer or NOTHING_TO_ADD, None, number, rule.when)
