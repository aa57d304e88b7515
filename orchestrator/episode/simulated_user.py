"""The simulated user: what does it say to an agent that asks?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..cases.model import UserRule

NOTHING_TO_ADD = "I have nothing to add. Please do what I asked for."
YES, NO = "Yes, go ahead.", "No, do not do that."


@dataclass(frozen=True)
class UserReply:
    """The user's words, and the rule that gave them; None where no rule was about it."""

    text: str
    granted: bool | None  # to confirm; None to a question
    rule: int | None = None  # from 0, in the case's order
    pattern: str | None = None  # what the rule was found by


class SimulatedUser:
    """Deterministic: the first rule whose pattern is found in the agent's words answers."""

    def __init__(self, rules: Sequence[UserRule]) -> None:
        self._rules = [(re.compile(rule.when, re.IGNORECASE), rule) for rule in rules]

    def hear(self, kind: str, words: str) -> UserReply:
        """The answer to `ask_user` or `confirm`. Who says nothing of it does not consent."""
        for number, (pattern, rule) in enumerate(self._rules):
            if pattern.search(words):
                return _answered(kind, rule, number)
        return UserReply(NO, False) if kind == "confirm" else UserReply(NOTHING_TO_ADD, None)


def _answered(kind: str, rule: UserRule, number: int) -> UserReply:
    if kind == "confirm":
        return UserReply(rule.answer or (YES if rule.grant else NO), rule.grant, number, rule.when)
    return UserReply(rule.answer or NOTHING_TO_ADD, None, number, rule.when)
