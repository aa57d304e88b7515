"""The agent loop: observe, ask the agent, perform its action, until it ends or its budget does."""

from __future__ import annotations

import json
import reprlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ..agent.agent import Action, AgentFault, AgentReply, Observation
from ..agent.normalize import BadAction, NormalizedAction, normalize
from ..agent.protocol import observation_json
from ..device.faults import DeviceFault
from ..device.presence import DeviceGone
from ..events.canonical import canonical, digest
from ..outcome import Effort, Reason
from .act import INPUTS, NOTHING, TOUCHES, input_line, perform
from .adb_cuts import asked_for, cuts_adb
from .context import AttemptContext
from .observe import ObservedScreen, observe
from .simulated_user import SimulatedUser

INVALID_IN_A_ROW = 3
LOG_MARK = 4096  # bytes of the log's end by which what follows is found
LOG_READ = 1024 * 1024  # as much as a supervisor gives
# Faults before adb delivered anything; after any other fault the phone may have acted.
UNDELIVERED = frozenset(
    {"adb_server", "device_connecting", "device_not_found", "device_offline", "device_unauthorized"}
)


class AgentLoop:
    """The steps of one agent in one attempt."""

    def __init__(self, context: AttemptContext) -> None:
        self._context = context
        self._user = SimulatedUser(context.rendered.user)
        self.reached = False  # the agent was shown something
        self.acted = False  # the phone received an action of the agent
        self.answer: str | None = None
        self.spent = Reason.NONE
        self._cut_adb = False
        self.adb_restarts: int | None = None  # of the adb server, until the agent began
        self._log_before = ""
        self._message = ""
        self._looks = 0
        self._inputs = 0
        self._user_turns: Counter[str] = Counter()  # by the kind of action
        self._invalid = 0
        self._thought_s = 0.0  # by the agent
        self._waited_s = 0.0  # by its `wait` actions

    def run(self, after_each: Callable[[], None]) -> None:
        context, budget = self._context, self._context.rendered.budget
        started = time.monotonic()
        self._log_before, self.adb_restarts = context.log(LOG_MARK), context.adb_restarts()
        display = context.device.display()
        for step in range(budget.steps):
            context.check()
            screen = observe(context.device, display, step, context.bundle)
            self.reached = True
            self._looks += 1
            normalized = self._ask(step, screen, budget.seconds - self._thought_s)
            ended = normalized is not None and self._do(step, screen, normalized.action)
            after_each()
            if ended:
                return
            if self._thought_s >= budget.seconds:
                self.spent = Reason.OUT_OF_TIME
                return
            phone_s = time.monotonic() - started - self._thought_s - self._waited_s
            if phone_s > context.limits.device_s:
                took = f"{phone_s:.0f} s of {context.limits.device_s}"
                text = f"{step + 1} steps took the phone {took}"
                raise DeviceFault("timeout", text, during="the agent's steps")
        self.spent = Reason.OUT_OF_STEPS

    def broke_device(self) -> str:
        """What shows that the agent itself took the phone away: a line of the device's log since it
        began, or a gesture of its own; empty if nothing does."""
        if not self.acted:
            return ""
        log, before = self._context.log(LOG_READ), self._log_before
        if line := asked_for(log.rpartition(before)[2] if before else log):
            return line
        return "the agent touched a switch that cuts adb" if self._cut_adb else ""

    def effort(self) -> Effort:
        turns = self._user_turns
        return Effort(
            self._looks, round(self._thought_s, 3), turns["ask_user"], turns["confirm"],
            turns["refuse"], self._inputs,
        )  # fmt: skip

    def _ask(self, step: int, screen: ObservedScreen, seconds: float) -> NormalizedAction | None:
        """Asks the agent for one action; None for an invalid reply, which its next look reports."""
        context = self._context
        observation = Observation(
            step, context.rendered.goal, screen.width, screen.height, screen.png, screen.elements,
            self._message,
        )  # fmt: skip
        started = time.monotonic()
        try:
            reply = context.agent.act(observation, seconds)
        except Exception as error:  # even a bug of ours: every step has a call and an action
            text = str(error) or type(error).__name__
            self._record_call(step, observation, time.monotonic() - started, error=text)
            self._record_action(step, None, None, (text,))
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
                text = f"{INVALID_IN_A_ROW} invalid replies in a row: {error}"
                raise AgentFault(Reason.AGENT_INVALID, text) from error
            return None
        self._invalid = 0
        self._record_action(step, raw, normalized.action, normalized.warnings)
        return normalized

    def _do(self, step: int, screen: ObservedScreen, action: Action) -> bool:
        """Performs the action; returns whether it was the last."""
        bundle = self._context.bundle
        self._message = ""
        self._inputs += action.kind in INPUTS
        result = "not performed"
        try:
            result = self._perform(action, screen)
        except (DeviceFault, DeviceGone) as fault:
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

    def _perform(self, action: Action, screen: ObservedScreen) -> str:
        context, started = self._context, time.monotonic()
        try:
            result = perform(context.device, action, context.profile.roles, context.pause)
        except DeviceFault as fault:
            if fault.reason not in UNDELIVERED:
                self._delivered(action, screen)
            raise
        except DeviceGone:
            self._delivered(action, screen)
            raise
        self._delivered(action, screen)
        if action.kind == "wait":
            self._waited_s += time.monotonic() - started
        return result

    def _delivered(self, action: Action, screen: ObservedScreen) -> None:
        """Notes that the phone received the action, or may have."""
        self.acted = self.acted or action.kind in TOUCHES
        self._cut_adb = self._cut_adb or cuts_adb(action, screen.elements or ())

    def _consent(self, step: int, action: Action) -> None:
        """Records what agent and user say to each other; the user's answer names its rule."""
        bundle, event = self._context.bundle, "ask" if action.kind == "ask_user" else action.kind
        self._user_turns[action.kind] += 1
        bundle.event("consent_trace", event, step=step, who="agent", text=action.text)
        if action.kind in ("ask_user", "confirm"):
            reply = asdict(self._user.reply(action.kind, action.text))
            bundle.event("consent_trace", "answer", step=step, who="user", to=event, **reply)
            self._message = reply["text"]

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
        """Records the agent's action and the resulting input, even where there is none."""
        bundle = self._context.bundle
        bundle.event(
            "agent_action_trace", "agent_action", step_idx=step, raw_action=raw,
            normalized_action=action.as_json() if action else None,
            normalization_warnings=list(warnings),
        )  # fmt: skip
        bundle.line("device_input_trace", input_line(action or NOTHING, step, bundle.now_ms()))
        if action is None:
            result, none = "; ".join(warnings), {"action": NOTHING.kind}
            bundle.event("action_trace", "action", step=step, action=none, result=result)


def recordable(raw: Any) -> Any:
    """The agent's reply as it will be read back; a short excerpt if it cannot become JSON."""
    try:
        return json.loads(canonical(raw).decode("utf-8", "replace"))
    except (ValueError, TypeError, RecursionError):
        return {"not_json": reprlib.repr(raw)}
