"""If the farm removes an agent's container, that is infrastructure, before and after it acted;
what an agent does to itself is its own fault."""

from __future__ import annotations

import pytest

from orchestrator.agent.agent import AgentFault, AgentHostLost
from orchestrator.episode.attempt import JudgedAttempt
from orchestrator.outcome import Reason
from tests.episode.stage import Says, Stage

TAP = {"action": "tap", "x": 540, "y": 1200}
LOST = AgentHostLost("its container is gone: somebody removed it")


def word(played: JudgedAttempt) -> tuple[str, str]:
    return played.judgement.outcome.value, played.judgement.reason.value


def test_an_agents_place_that_cannot_be_made_is_infrastructure(stage: Stage) -> None:
    played = stage.play(Says(start=LOST))
    assert word(played) == ("infra_failed", "host_lost")
    assert played.judgement.retried


def test_an_agents_place_that_was_lost_in_mid_attempt_is_infrastructure(stage: Stage) -> None:
    played = stage.play(Says(TAP, LOST))
    assert word(played) == ("infra_failed", "host_lost")
    assert played.judgement.retried


@pytest.mark.parametrize("turns", [(), (TAP,)])
def test_a_container_that_ended_by_itself_is_the_agents_fault(
    stage: Stage, turns: tuple[dict[str, object], ...]
) -> None:
    text = "connection reset; container OOM-killed: the agent needed more than its 64 MB"
    played = stage.play(Says(*turns, AgentFault(Reason.AGENT_CRASHED, text)))
    assert word(played) == ("agent_failed", "agent_crashed")
    assert not played.judgement.retried
