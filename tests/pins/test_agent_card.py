"""The identity of an agent comes from its card if it has one, and is never guessed."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.errors import UsageError
from orchestrator.pins.agent_card import agent_facts, inference_facts, load_card

TEXT = """
name: mine
version: "2"
model: m-1
base_url: https://api.example.org/v1
sampling: {temperature: 0.2, top_k: 40, greedy: false, stop: [END]}
"""


@pytest.fixture
def card(tmp_path: Path) -> Path:
    path = tmp_path / "card.yaml"
    path.write_text(TEXT)
    return path


def test_a_card_says_who_and_with_what(card: Path) -> None:
    said = load_card(card)
    told = agent_facts("command:./a", ("/bin/a",), said)
    assert (told["name"], told["version"], told["spec"]) == ("mine", "2", "command:./a")
    inference = inference_facts(("/bin/a",), said)
    assert inference["model"] == "m-1"
    assert inference["sampling"] == {
        "temperature": 0.2, "top_k": 40, "greedy": False, "stop": ["END"],
    }  # fmt: skip
    assert inference["provider"] == {"value": None, "why": "the agent card does not say"}


def test_our_own_agents_are_of_this_version_and_call_no_model() -> None:
    told = agent_facts("idle", (), None)
    assert (told["name"], told["version"]) == ("idle", __version__)
    assert "no model is called" in inference_facts((), None)["why"]


@pytest.mark.parametrize(
    "place", [{"url": "http://host/"}, {"image": "a:1", "image_id": "sha256:0"}]
)
def test_an_agent_outside_is_told_by_its_place_and_not_trusted(place: dict[str, str]) -> None:
    told = agent_facts("spec", (), None, place)
    assert told["trusted_with_host"] is False
    assert place.items() <= told.items()
    assert "does not run on the device's host" in told["command"]["why"]
    assert "--agent-card" in told["version"]["why"]
    assert "cannot see" in inference_facts((), None, place)["why"]


def test_a_program_is_told_by_its_files(tmp_path: Path) -> None:
    """An interpreter's script too; its version nobody knows."""
    script = tmp_path / "agent.py"
    script.write_text("print()")
    told = agent_facts("command:x", (sys.executable, str(script), "--fast"), None)
    assert told["command"] == [sys.executable, str(script), "--fast"]
    assert set(told["files_sha256"]) == {sys.executable, str(script)}
    assert told["files_sha256"][str(script)] == hashlib.sha256(b"print()").hexdigest()
    assert "--agent-card" in told["version"]["why"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("name: mine\n", "", "name: Field required"),
        ("name: mine", "name: ''", "name: String should have at least 1 character"),
        ('"2"', "2", r"version: .* \(put it in quotes\)"),
        ("model: m-1", "modell: m-1", "modell: is not a key of an agent card"),
        ("temperature: 0.2", "temperature: .nan", "sampling.temperature"),
        ("temperature: 0.2", "temperature: null", "sampling.temperature"),
        ("https://api", "https://me:secret@api", "leave out user, password and query"),
        ("/v1", "/v1?key=secret", "leave out user, password and query"),
        ("https:", "file:", "an http or https URL"),
        ("model: m-1", "model: m-1\nmodel: m-2", "'model' is written twice"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(card: Path, old: str, new: str, says: str) -> None:
    assert old in TEXT
    card.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(UsageError, match=says) as caught:
        load_card(card)
    assert "\n" not in str(caught.value)


def test_a_card_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml cannot be read"):
        load_card(tmp_path / "none.yaml")
