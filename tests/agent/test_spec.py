"""An agent's spec is resolved before anything is provisioned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.command_agent import CommandAgent
from orchestrator.agent.http_agent import HttpAgent
from orchestrator.agent.spec import (
    check_backend,
    check_spec,
    command_words,
    make_agent,
    remote_facts,
)
from orchestrator.cases.model import Budget
from orchestrator.cases.render import CaseBroken, Rendered
from orchestrator.errors import UsageError
from tests.agent.screens import seen

BUDGET = Budget(steps=5, seconds=5)

DIGEST = "0" * 64


def rendered(**scripts: Any) -> Rendered:
    told: dict[str, Any] = {"solution": (), "near_miss": (), "bait": (), **scripts}
    return Rendered(
        "goal", BUDGET, (), (), (), told["solution"], told["near_miss"], told["bait"], ()
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [("reference", "right"), ("near_miss", "nearly"), ("gullible", "lured")],
)
def test_a_control_plays_its_own_script(spec: str, said: str) -> None:
    case = rendered(
        solution=({"answer": "right"},),
        near_miss=({"answer": "nearly"},),
        bait=({"answer": "lured"},),
    )
    agent = make_agent(spec, case, 1)
    agent.start("goal", 1)
    assert agent.info.name == spec
    assert agent.act(seen(), 1).raw == {"action": "answer", "text": said}


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("refrence", "did you mean 'reference'?"),
        ("Near_Miss", "did you mean 'near_miss'?"),
        ("commnd:./agent.py", "did you mean 'command:'?"),
        ("img:my-agent:1", "did you mean 'image:'?"),
        ("zebra", "choose one of reference, near_miss, gullible, idle, random, command:PROGRAM"),
    ],
)
def test_an_unknown_agent_is_answered_with_the_nearest(spec: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_spec(spec)
    assert str(caught.value).startswith(f"there is no agent {spec!r}; {hint}")


def test_idle_is_done_at_once() -> None:
    agent = make_agent("idle", rendered(solution=({"answer": "right"},)), 1)
    agent.start("goal", 1)
    assert agent.act(seen(), 1).raw["action"] == "done"


def test_a_case_without_a_script_for_this_profile_is_the_cases_fault() -> None:
    with pytest.raises(CaseBroken, match="no solution for this profile"):
        make_agent("reference", rendered(solution=None), 1)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("genius", "no agent 'genius'; choose one of reference, near_miss, gullible, idle, random"),
        ("", "no agent ''"),
        ("command:", "names no program"),
        ("command:'", "not a command line"),
        ("command:./none.py", "'./none.py' does not exist or is not executable"),
        ("command:no-such-program-anywhere", "does not exist"),
        ("http://", "is not an agent's URL: write http://HOST:PORT/PATH"),
        ("http://host:99999/", "is not an agent's URL: Port out of range"),
        ("http://me:secret@host/", "leave out user, password, query and fragment"),
        ("https://host/?key=secret", "leave out user, password, query and fragment"),
        ("http://ho st/", "characters that a URL cannot have"),
        ("image:", "names no image"),
        ("image:-rf", "names no image"),
        ("image:a b", "names no image"),
    ],
)
def test_an_unknown_agent_is_one_clear_sentence(spec: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_spec(spec)


def test_an_agent_that_is_not_trusted_with_the_host_says_where_it_is() -> None:
    assert remote_facts("http://host:9/act") == {"url": "http://host:9/act"}
    assert remote_facts("image:my-agent:1") == {"image": "my-agent:1"}
    assert remote_facts("reference") is None
    assert remote_facts("command:./agent.py") is None
    agent = make_agent("https://host/act", rendered(), 1)
    assert isinstance(agent, HttpAgent)
    assert (agent.info.name, agent.info.trusted) == ("host:443", False)


@pytest.mark.parametrize(
    ("spec", "backend", "why"),
    [
        ("image:my-agent:1", "local", "the local backend runs none: use BACKEND=docker"),
        ("http://127.0.0.1:8080/", "docker", "is the worker's own container"),
        ("http://localhost/", "docker", "is the worker's own container"),
        ("http://127.8.0.1/", "docker", "is the worker's own container"),
        ("http://0.0.0.0:8080/", "docker", "is the worker's own container"),
        ("https://[::1]/", "docker", "is the worker's own container"),
        ("command:/bin/true", "docker", "a program on this machine"),
        ("http://127.0.0.1:8080/", "kubernetes", "is the worker's own Pod: use an address"),
        ("http://localhost/", "kubernetes", "is the worker's own Pod"),
        ("https://[::1]/", "kubernetes", "is the worker's own Pod"),
        ("command:/bin/true", "kubernetes", r"which a Pod cannot run: .*image:.*http://.*https://"),
        ("image:my-agent:1", "kubernetes", "has no digest, and a cluster runs images by digest"),
        ("image:my-agent@sha256:00ff", "kubernetes", "image:NAME@sha256:..."),
        (f"image:my-agent@sha256:{DIGEST}\n", "kubernetes", "has no digest"),
    ],
)
def test_an_agent_that_a_backend_cannot_reach_is_refused(spec: str, backend: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_backend(spec, backend)


@pytest.mark.parametrize(
    ("spec", "backend"),
    [
        ("image:registry.example.org/a/b:1@sha256:00ff", "docker"),
        ("http://127.0.0.1:8080/", "local"),
        ("http://10.0.0.7:8080/", "docker"),
        ("command:/bin/true", "local"),
        ("https://agents.example.org/act", "docker"),
        ("reference", "docker"),
        (f"image:registry.example.org/a/b:1@sha256:{DIGEST}", "kubernetes"),
        ("http://10.0.0.7:8080/", "kubernetes"),
        ("https://agents.example.org/act", "kubernetes"),
        ("reference", "kubernetes"),
        ("random", "kubernetes"),
    ],
)
def test_all_others_may_run_there(spec: str, backend: str) -> None:
    check_spec(spec)
    check_backend(spec, backend)


def test_a_command_that_may_not_be_executed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("")
    with pytest.raises(UsageError, match="is not executable"):
        check_spec("command:./agent.py", tmp_path)


def test_files_in_a_command_are_found_though_it_runs_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("")
    words = command_words(f"command:{sys.executable} agent.py --level 3", tmp_path)
    assert words == (sys.executable, str(tmp_path / "agent.py"), "--level", "3")
    agent = make_agent("command:python3 -c 'x y'", rendered(), 1)
    assert isinstance(agent, CommandAgent)
    assert agent.info.command[1:] == ("-c", "x y")
