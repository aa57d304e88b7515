"""The agent's turn: look, ask for an action, do it, until it is done or its budget is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ..agent.action import Action, NoAction, Normalized
from ..agent.agent import AgentFault, Observation, Reply
from ..agent.normalize import normalize
from ..agent.shown import shown
from ..events.canonical import digest
from ..outcome import Reason
from .act import input_line, perform
from .observe import Sight, observe
from .scene import Scene
from .user import User

INVALID_IN_A_ROW = 3
# Words on a phone by which a person cuts off adb; an agent that taps them did it itself.
CUTS_ADB = frozenset({"usb debugging", "power off", "restart", "reboot", "factory reset"})


class Steps:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._user = User(scene.rendered.user)
        self.reached = False  # the agent was shown something
        self.acted = False  # and the phone was given an action of its
        self.answer: str | None = None
        self.spent = Reason.NONE
        self.cut_adb = False
        self._message = ""
        self._invalid = 0

    def run(self, after_each: Callable[[], None]) -> None:
        scene, budget = self._scene, self._scene.rendered.budget
        display = scene.device.display()
        thought_s = 0.0
        for step in range(budget.steps):
            scene.check()
            sight = observe(scene.device, display, step, scene.bundle)
            self.reached = True
            started = time.monotonic()
            normalized = self._ask(step, sight, budget.seconds - thought_s)
            thought_s += time.monotonic() - started
            ended = normalized is not None and self._do(step, sight, normalized.action)
            after_each()
            if ended:
                return
            if thought_s >= budget.seconds:
                self.spent = Reason.OUT_OF_TIME
                return
        self.spent = Reason.OUT_OF_STEPS

    def _ask(self, step: int, sight: Sight, seconds: float) -> Normalized | None:
        """One action of the agent's; None where what it said is none, which it is told."""
        scene = self._scene
        observation = Observation(
            step, scene.rendered.goal, sight.width, sight.height, sight.png, sight.elements,
            self._message,
        )  # fmt: skip
        started = time.monotonic()
        reply, fault = None, None
        try:
            reply = scene.agent.act(observation, seconds)
        except AgentFault as error:
            fault = error
        self._record_call(step, observation, reply, fault, time.monotonic() - started)
        if fault is not None or reply is None:
            self._record_action(step, None, None, (fault.text if fault else "no reply",))
            raise fault or AgentFault(Reason.AGENT_SILENT, "no reply")
        try:
            normalized = normalize(reply.raw, observation)
        except NoAction as error:
            self._record_action(step, reply.raw, None, (str(error),))
            self._message, self._invalid = str(error), self._invalid + 1
            if self._invalid >= INVALID_IN_A_ROW:
                text = f"{INVALID_IN_A_ROW} replies in a row were no actions: {error}"
                raise AgentFault(Reason.AGENT_INVALID, text) from error
            return None
        self._invalid = 0
        action = normalized.action.as_json()
        self._record_action(step, reply.raw, action, normalized.warnings)
        return normalized

    def _do(self, step: int, sight: Sight, action: Action) -> bool:
        """Does it; whether it was the last."""
        scene = self._scene
        self._message = ""
        self.cut_adb = self.cut_adb or cuts_adb(action, sight)
        self.acted = self.acted or action.kind not in ("done", "refuse")
        scene.bundle.line("device_input_trace", input_line(action, step, scene.bundle.now_ms()))
        result = perform(scene.device, action, scene.profile.roles, scene.pause)
        if result != "ok":
            self._message = result
        if action.kind == "answer":
            self.answer = action.text
        elif action.kind in ("ask_user", "confirm", "refuse"):
            self._consent(step, action)
        scene.bundle.event(
            "action_trace", "action", step=step, action=action.as_json(), result=result
        )
        return action.kind in ("done", "refuse")

    def _consent(self, step: int, action: Action) -> None:
        bundle = self._scene.bundle
        if action.kind == "refuse":
            bundle.event("consent_trace", "refuse", step=step, text=action.text)
            return
        asked = "ask" if action.kind == "ask_user" else "confirm"
        bundle.event("consent_trace", asked, step=step, text=action.text)
        said = self._user.hear(action.kind, action.text)
        bundle.event("consent_trace", "answer", step=step, **asdict(said))
        self._message = said.text

    def _record_call(
        self,
        step: int,
        observation: Observation,
        reply: Reply | None,
        fault: AgentFault | None,
        seconds: float,
    ) -> None:
        about = self._scene.agent.about
        self._scene.bundle.event(
            "agent_call_trace", "agent_call", step_idx=step, agent_name=about.name,
            provider=about.provider, model_id=about.model_id, base_url=about.base_url,
            input_digest=digest(shown(observation)),
            response_digest=digest(reply.raw) if reply else None,
            latency_ms=round(seconds * 1000), tokens_in=reply.tokens_in if reply else None,
            tokens_out=reply.tokens_out if reply else None, error=fault.text if fault else None,
        )  # fmt: skip

    def _record_action(
        self, step: int, raw: Any, action: dict[str, Any] | None, warnings: tuple[str, ...]
    ) -> None:
        self._scene.bundle.event(
            "agent_action_trace", "agent_action", step_idx=step, raw_action=raw,
            normalized_action=action, normalization_warnings=list(warnings),
        )  # fmt: skip


def cuts_adb(action: Action, sight: Sight) -> bool:
    """Whether what is tapped is a switch by which a person would cut adb off."""
    if action.kind != "tap" or action.x is None or action.y is None:
        return False
    words = (
        word.lower()
        for e in sight.elements or ()
        if e.bounds.left <= action.x < e.bounds.right and e.bounds.top <= action.y < e.bounds.bottom
        for word in (e.text, e.description)
    )
    return any(word in CUTS_ADB for word in words)
