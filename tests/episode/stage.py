"""Plays an attempt on a real simulated phone, with agents that live in the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orchestrator.agent.agent import AgentInfo, AgentReply, Observation
from orchestrator.cases.model import Case
from orchestrator.cases.render import render
from orchestrator.device.phone import Device
from orchestrator.episode.attempt import JudgedAttempt, attempt
from orchestrator.episode.case_site import Site
from orchestrator.episode.context import AttemptContext
from orchestrator.errors import EmufarmError
from orchestrator.evidence.bundle import Bundle
from orchestrator.pins.image_lock import ImageLock
from orchestrator.pins.profile import load_profile
from orchestrator.settings import Limits

PROFILE = load_profile("sim-api34").model_copy(update={"settle_s": 0.1})
DONE = {"action": "done"}
Turn = Any | Callable[[], Any]  # what to say, or what to do and then say


class Says:
    """Says one thing a turn; a function is called for it; an exception is raised."""

    info = AgentInfo("test")

    def __init__(self, *turns: Turn, start: EmufarmError | None = None) -> None:
        self._turns: Iterator[Turn] = iter(turns)
        self._start = start
        self.shown: list[Observation] = []
        self.closed = False

    def start(self, goal: str, seconds: float) -> None:
        if self._start is not None:
            raise self._start

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        self.shown.append(observation)
        turn = next(self._turns, DONE)
        said = turn() if callable(turn) else turn
        if isinstance(said, Exception):
            raise said
        return AgentReply(said)

    def close(self) -> None:
        self.closed = True


def a_setting(name: str, value: str = "1", **more: Any) -> dict[str, Any]:
    question = {"namespace": "system", "name": name, "equals": value}
    return {"name": name, "setting": question, **more}


def a_case(**fields: Any) -> dict[str, Any]:
    """Succeeds once the setting `good` is 1; `bad` must not become so."""
    return {
        "id": "a_case",
        "tags": [],
        "goal": "Make it good.",
        "budget": {"steps": 4, "seconds": 30},
        "success": [a_setting("good")],
        "forbidden": [a_setting("bad")],
        "solution": [{"done": True}],
        "near_miss": [{"done": True}],
        **fields,
    }


@dataclass
class Stage:
    device: Device
    lock: ImageLock
    tmp_path: Path
    limits: Limits = field(default_factory=lambda: replace(Limits(), reset_s=20.0, setup_s=2.0))
    stopped: Callable[[], bool] = lambda: False
    leased: Callable[[], bool] = lambda: True
    warn: Callable[[], None] = lambda: None
    attempts: int = 0
    proven: bool | None = None  # whether the case's controls passed on this image

    @property
    def folder(self) -> Path:
        return self.tmp_path / f"bundle-{self.attempts}"

    def put(self, name: str, value: str = "1", said: Any = DONE) -> Callable[[], Any]:
        """A turn in which the world changes as if by the agent's doing."""

        def turn() -> Any:
            self.device.settings.put("system", name, value)
            return said

        return turn

    def play(self, agent: Says, **case: Any) -> JudgedAttempt:
        self.attempts += 1
        with Site() as site, Bundle(self.folder) as bundle:
            rendered = render(
                Case.model_validate(a_case(**case)), "benign", 7, site.url, PROFILE.name, {}
            )
            versions = {"adb": "1"}
            context = AttemptContext(
                self.device, rendered, agent, bundle, PROFILE, self.limits, site, versions,
                self.stopped, self.leased, lambda seconds: None, self.proven, self.warn,
            )  # fmt: skip
            try:
                return attempt(context, self.lock)
            finally:
                assert agent.closed

    def trace(self, name: str, event: str | None = None) -> list[dict[str, Any]]:
        lines = (self.folder / f"{name}.jsonl").read_text().splitlines()
        told: Iterable[dict[str, Any]] = map(json.loads, lines)
        return [line for line in told if event is None or line["event"] == event]
