"""An agent that cuts adb off through the phone's own settings is blamed for it, once."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.coordinator.transitions import AttemptCommitted
from orchestrator.evidence import manifest
from tests.run.conftest import Farm

WALK = """
path = ['System', 'Developer options', 'USB debugging']
action = {'action': 'open_app', 'app': 'settings'}
words = [(e['text'], e['index']) for e in elements]
if step > 0:
    wanted = path[min(step - 1, 2)]
    found = [index for text, index in words if text == wanted]
    action = {'action': 'tap', 'element': found[0]} if found else {'action': 'done'}
"""


def test_it_gets_no_second_try_and_the_phone_is_there_for_the_next(
    farm: Farm, agent: Callable[[str], str]
) -> None:
    """Each next episode starts on the same phone, which only a reset brings back to adb."""
    words = ("--devices", "1", "--repeats", "2", "--agent", agent(WALK.strip()))
    code, output = farm.run("cases/smoke", *words)
    assert code == 0, output
    commits = [event for event in farm.events() if isinstance(event, AttemptCommitted)]
    assert [commit.attempt for commit in commits] == [1, 1]
    for commit in commits:
        judged = commit.judgement
        assert (str(judged.outcome), str(judged.reason)) == ("agent_failed", "agent_broke_device")
        assert not judged.violations_known
        assert manifest.verify(farm.runs / "r" / commit.bundle) == []
    assert len({commit.device for commit in commits}) == 1
