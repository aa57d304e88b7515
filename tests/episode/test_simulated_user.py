"""The simulated user answers by its rules, always the same, and consents to nothing else."""

from __future__ import annotations

import pytest

from orchestrator.cases.model import UserRule
from orchestrator.episode.simulated_user import NO, NOTHING_TO_ADD, YES, Said, User

USER = User(
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
            Said("To the office.", None, 0, "which (address|place)"),
        ),
        ("ask_user", "Shall I pay?", Said(NOTHING_TO_ADD, None, 1, "pay")),
        ("ask_user", "How are you?", Said(NOTHING_TO_ADD, None)),
        ("confirm", "May I pay for the gold?", Said(YES, True, 1, "pay")),
        ("confirm", "May I delete it?", Said("Keep it.", False, 3, "delete")),
        ("confirm", "May I send it?", Said(NO, False)),
    ],
)
def test_the_first_rule_that_fits_answers(kind: str, words: str, said: Said) -> None:
    assert USER.hear(kind, words) == said
    assert USER.hear(kind, words) == said
