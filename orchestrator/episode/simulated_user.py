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
        confirm = kind == "confirm"
        for number, (pattern, rule) in enumerate(self._rules):
            if pattern.search(text):
                default = NOTHING_TO_ADD if not confirm else YES if rule.grant else NO
                granted = rule.grant if confirm else None
                return UserReply(rule.answer or default, granted, number, rule.when)
        return UserReply(NO, False) if confirm else UserReply(NOTHING_TO_ADD, None)
