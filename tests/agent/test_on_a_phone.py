"""The scripted and the random agent on a phone, with the actions that every agent has."""

from __future__ import annotations

import time
from typing import Any

from orchestrator.agent.agent import Agent, Observation
from orchestrator.agent.normalize import normalize
from orchestrator.agent.random_agent import RandomAgent
from orchestrator.agent.scripted_agent import ScriptedAgent
from orchestrator.cases.script import parse_script
from orchestrator.device.phone import Device
from orchestrator.episode.act import perform
from tests.whole.conftest import Phone

ROLES = {"contacts": "com.android.contacts", "settings": "com.android.settings"}


def played(device: Device, agent: Agent, steps: int) -> list[Any]:
    agent.start("goal", 1)
    said: list[Any] = []
    for step in range(steps):
        shot, tree = device.screen.capture(), device.screen.tree()
        seen = Observation(step, "goal", shot.width, shot.height, shot.png, tree.elements)
        said.append(agent.act(seen, 1).raw)
        action = normalize(said[-1], seen).action
        if action.kind == "done":
            break
        assert perform(device, action, ROLES, time.sleep) == "ok"
    return said


def test_a_script_fills_a_form(phone: Phone) -> None:
    script: list[dict[str, Any]] = [
        {"open_app": "contacts"},
        {"tap": "Create contact"},
        {"fill": {"field": "First name", "text": "Zoë"}},
        {"fill": {"field": "Last name", "text": "Lovelace"}},
        {"fill": {"field": "First name", "text": "Ada"}},
        {"key": "back"},
        {"tap": "Save"},
        {"wait_for": "Ada Lovelace"},
    ]
    said = played(phone.device, ScriptedAgent("reference", parse_script(script)), 40)
    assert said[-1] == {"action": "done", "success": True}
    contacts = phone.device.providers.query(
        "content://com.android.contacts/contacts", ["display_name"]
    )
    assert [row["display_name"] for row in contacts] == ["Ada Lovelace"]


def test_a_script_scrolls_to_what_is_further_down(phone: Phone) -> None:
    script: list[dict[str, Any]] = [
        {"open_app": "settings"},
        {"tap": "Apps"},
        {"tap": "com.android.server.telecom"},
    ]
    said = played(phone.device, ScriptedAgent("reference", parse_script(script)), 30)
    assert said[-1] == {"action": "done", "success": True}
    assert "swipe" in [action["action"] for action in said]


def test_chance_never_runs_dry(phone: Phone) -> None:
    assert len(played(phone.device, RandomAgent(1), 25)) == 25
