"""The agent's turn: look, ask for an action, do it, until it is done or its budget is."""

from __future__ import annotations

import json
import reprlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ..agent.action import Action, BadAction, NormalizedAction
from ..agent.agent import AgentFault, AgentReply, Observation
from ..agent.normalize import normalize
from ..agent.protocol import observation_json
from ..device.faults import DeviceFault
from ..events.canonical import canonical, digest
from ..outcome import Effort, Reason
from .act import NOTHING, TOUCHES, cuts_adb, input_line, perform
from .context import AttemptContext
from .observe import ObservedScreen, observe
from .simulated_user import SimulatedUser

INVALID_IN_A_ROW = 3
# Adb's words where it never began to deliver a command; after any other the phone may have acted.
UNDELIVERED = frozenset(
    {"adb_server", "device_connecting", "device_not_found", "device_offline", "device_unauthorized"}
)


class AgentLoop:
    def __init__(self, context: AttemptContext) -> None:
        self._context = context
        self._user = SimulatedUser(context.rendered.user)
        self.reached = False  # the agent was shown something
        self.acted = False  # and the phone was given an action of its
        self.answer: str | None = None
        self.spent = Reason.NONE
        self.cut_adb = False
        self._message = ""
        self._looks = 0
        self._turned: Counter[str] = Counter()  # to the user, by the action
        self._invalid = 0
        self._thought_s = 0.0  # by the agent
        self._waited_s = 0.0  # because it said so

    def run(self, after_each: Callable[[], None]) -> None:
        context, budget = self._context, self._context.rendered.budget
        started = time.monotonic()
        display = context.device.display()
        for step in range(budget.steps):
            context.check()
            sight = observe(context.device, display, step, context.bundle)
            self.reached = True
            self._looks += 1
            normalized = self._ask(step, sight, budget.seconds - self._thought_s)
            ended = normalized is not None and self._do(step, sight, normalized.action)
            after_each()
            if ended:
                return
            if self._thought_s >= budget.seconds:
                self.spent = Reason.OUT_OF_TIME
                return
            phone_s = time.monotonic() - started - self._thought_s - self._waited_s
            if phone_s > context.limits.device_s:
                text = (
                    f"{step + 1} steps took the phone {phone_s:.0f} s of {context.limits.device_s}"
                )
                raise DeviceFault("timeout", text, during="the agent's steps")
        self.spent = Reason.OUT_OF_STEPS

    def effort(self) -> Effort:
        turned = self._turned
        return Effort(
            self._looks, round(self._thought_s, 3), turned["ask_user"], turned["confirm"],
            turned["refuse"],
        )  # fmt: skip

    def _ask(self, step: int, sight: ObservedScreen, seconds: float) -> NormalizedAction | None:
        """One action of the agent's; None where what it said is none, which it is told."""
        context = self._context
        observation = Observation(
            step, context.rendered.goal, sight.width, sight.height, sight.png, sight.elements,
            self._message,
        )  # fmt: skip
        started = time.monotonic()
        try:
            reply = context.agent.act(observation, seconds)
        except Exception as error:  # also a bug of ours: an observed step has its call and action
            said = str(error) or type(error).__name__
            self._record_call(step, observation, time.monotonic() - started, error=said)
            self._record_action(step, None, None, (said,))
            raise
        took = time.monotonic() - started
        self._thought_s += took
        raw = recordable(reply.raw)
        self._record_call(step, observation, took, replace(reply, raw=raw))
        try:
            normalized = normalize(reply.raw, observation)
        except BadAction as error:
            self._record_action(step, raw, None, (str(error),))
            self._message, self._invalid = str(error), self._invalid + 1
            if self._invalid >= INVALID_IN_A_ROW:
                text = f"{INVALID_IN_A_ROW} replies in a row were no actions: {error}"
                raise AgentFault(Reason.AGENT_INVALID, text) from error
            return None
        self._invalid = 0
        self._record_action(step, raw, normalized.action, normalized.warnings)
        return normalized

    def _do(self, step: int, sight: ObservedScreen, action: Action) -> bool:
        """Does it; whether it was the last."""
        bundle = self._context.bundle
        self._message = ""
        result = "it was not done"
        try:
            result = self._perform(action, sight)
        except DeviceFault as fault:
            result = str(fault)
            raise
        finally:
            bundle.event(
                "action_trace", "action", step=step, action=action.as_json(), result=result
            )
        if result != "ok":
            self._message = result
        if action.kind == "answer":
            self.answer = action.text
        if action.kind in ("ask_user", "confirm", "refuse", "answer"):
            self._consent(step, action)
        return action.kind in ("done", "refuse")

    def _perform(self, action: Action, sight: ObservedScreen) -> str:
        context, started = self._context, time.monotonic()
        try:
            result = perform(context.device, action, context.profile.roles, context.pause)
        except DeviceFault as fault:
            if fault.reason not in UNDELIVERED:
                self._given(action, sight)
            raise
        self._given(action, sight)
        if action.kind == "wait":
            self._waited_s += time.monotonic() - started
        return result

    def _given(self, action: Action, sight: ObservedScreen) -> None:
        """The phone has it, or may have it."""
        self.acted = self.acted or action.kind in TOUCHES
        self.cut_adb = self.cut_adb or cuts_adb(action, sight.elements or ())

    def _consent(self, step: int, action: Action) -> None:
        """A line for every word between agent and user; the user's names the rule behind it."""
        bundle, event = self._context.bundle, "ask" if action.kind == "ask_user" else action.kind
        self._turned[action.kind] += 1
        bundle.event("consent_trace", event, step=step, who="agent", text=action.text)
        if action.kind in ("ask_user", "confirm"):
            said = self._user.hear(action.kind, action.text)
            bundle.event("consent_trace", "answer", step=step, who="user", to=event, **asdict(said))
            self._message = said.text

    def _record_call(
        self,
        step: int,
        observation: Observation,
        seconds: float,
        reply: AgentReply | None = None,
        error: str | None = None,
    ) -> None:
        info = self._context.agent.info
        self._context.bundle.event(
            "agent_call_trace", "agent_call", step_idx=step, agent_name=info.name,
            provider=info.provider, model_id=info.model_id, base_url=info.base_url,
            input_digest=digest(observation_json(observation)),
            response_digest=digest(reply.raw) if reply else None,
            latency_ms=round(seconds * 1000), tokens_in=reply.tokens_in if reply else None,
            tokens_out=reply.tokens_out if reply else None, error=error,
        )  # fmt: skip

    def _record_action(
        self, step: int, raw: Any, action: Action | None, warnings: tuple[str, ...]
    ) -> None:
        """What was said, and the input it becomes: every step has a line, also of no input."""
        bundle = self._context.bundle
        bundle.event(
            "agent_action_trace", "agent_action", step_idx=step, raw_action=raw,
            normalized_action=action.as_json() if action else None,
            normalization_warnings=list(warnings),
        )  # fmt: skip
        bundle.line("device_input_trace", input_line(action or NOTHING, step, bundle.now_ms()))
        if action is None:
            no_action = {"action": NOTHING.kind}
            bundle.event(
                "action_trace", "action", step=step, action=no_action, result="; ".join(warnings)
            )


def recordable(raw: Any) -> Any:
    """What an agent said, as it will be read back; a few words of it where JSON cannot say it."""
    try:
        return json.loads(canonical(raw).decode("utf-8", "replace"))
    except (ValueError, TypeError, RecursionError):
        return {"not_json": reprlib.repr(raw)}
