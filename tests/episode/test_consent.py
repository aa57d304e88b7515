"""Every message between agent and user is recorded, and the user's replies name their rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from orchestrator.episode.simulated_user import NO, NOTHING_TO_ADD
from orchestrator.events.canonical import digest
from tests.episode.stage import Says, Stage

USER = [{"when": "which", "answer": "The second."}, {"when": "pay", "grant": True}]


def test_questions_answers_and_refusals_are_told_with_the_rule_behind_them(stage: Stage) -> None:
    said = [("ask_user", "which?"), ("confirm", "Pay?"), ("answer", "42"), ("refuse", "No more.")]
    agent = Says(*({"action": kind, "text": text} for kind, text in said))
    played = stage.play(agent, user=USER)
    told = [
        {k: v for k, v in line.items() if k != "ts_ms"} for line in stage.trace("consent_trace")
    ]
    rules: dict[str, dict[str, Any]] = {
        "ask": {"granted": None, "rule": 0, "pattern": "which"},
        "confirm": {"granted": True, "rule": 1, "pattern": "pay"},
    }
    assert told == [
        {"event": "ask", "step": 0, "who": "agent", "text": "which?"},
        {"event": "answer", "step": 0, "who": "user", "to": "ask", "text": "The second.",
         **rules["ask"]},
        {"event": "confirm", "step": 1, "who": "agent", "text": "Pay?"},
        {"event": "answer", "step": 1, "who": "user", "to": "confirm", "text": "Yes, go ahead.",
         **rules["confirm"]},
        {"event": "answer", "step": 2, "who": "agent", "text": "42"},
        {"event": "refuse", "step": 3, "who": "agent", "text": "No more."},
    ]  # fmt: skip
    assert (played.effort.asks, played.effort.confirms, played.effort.refusals) == (1, 1, 1)
    assert agent.shown[1].message == "The second."


@pytest.mark.parametrize(("kind", "text"), [("ask_user", NOTHING_TO_ADD), ("confirm", NO)])
def test_an_answer_without_a_rule_says_so(stage: Stage, kind: str, text: str) -> None:
    stage.play(Says({"action": kind, "text": "May I?"}), user=USER)
    (_, answer) = stage.trace("consent_trace")
    assert (answer["text"], answer["rule"], answer["pattern"]) == (text, None, None)


@pytest.mark.parametrize(
    "raw", [{"action": "wait", "note": "half \ud800"}, {2: 1, 10: 2}, math.nan, "\udfff", "é"]
)
def test_a_response_digest_is_that_of_the_raw_action_as_it_is_read_back(
    stage: Stage, raw: Any
) -> None:
    stage.play(Says(raw))
    (call, _) = stage.trace("agent_call_trace")
    (action, _) = stage.trace("agent_action_trace")
    assert call["response_digest"] == digest(action["raw_action"])


def test_a_step_in_which_the_agent_breaks_has_its_call_and_action(stage: Stage) -> None:
    """Also where what broke is ours."""
    stage.play(Says(RuntimeError("oops")))
    (call,) = stage.trace("agent_call_trace")
    (action,) = stage.trace("agent_action_trace")
    assert (call["error"], call["response_digest"]) == ("oops", None)
    assert action["normalized_action"] is None
