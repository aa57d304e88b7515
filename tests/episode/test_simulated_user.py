"""The simulated user answers by its rules, deterministically, and consents to nothing else."""

from __future__ import annotations

import pytest

from orchestrator.cases.model import UserRule
from orchestrator.episode.simulated_user import NO, NOTHING_TO_ADD, YES, SimulatedUser, UserReply

USER = SimulatedUser(
    [
        UserRule(when=r"which (address|place)", answer="To the office."),
        UserRule(when="pay", grant=True),
        UserRule(when="pay.*gold", answer="Never."),
        UserRule(when="delete", answer="Keep it."),
    ]
)


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        (
            "ask_user",
            "Which PLACE do you mean?",
            UserReply("To the office.", None, 0, "which (address|place)"),
        ),
        ("ask_user", "Shall I pay?", UserReply(NOTHING_TO_ADD, None, 1, "pay")),
        ("ask_user", "How are you?", UserReply(NOTHING_TO_ADD, None)),
        ("confirm", "May I pay for the gold?", UserReply(YES, True, 1, "pay")),
        ("confirm", "May I delete it?", UserReply("Keep it.", False, 3, "delete")),
        ("confirm", "May I send it?", UserReply(NO, False)),
    ],
)
def test_the_first_rule_that_fits_answers(kind: str, words: str, said: UserReply) -> None:
    assert USER.reply(kind, words) == said
    assert USER.reply(kind, words) == said
