"""Runs one attempt: reset, setup, agent, oracles, judgement."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field, replace

from ..agent.agent import AgentFault, AgentHostLost
from ..device.faults import TRANSIENT, DeviceFault
from ..device.presence import DeviceGone
from ..evidence.bundle import EvidenceLost
from ..outcome import (
    NO_EFFORT,
    Effort,
    HostFact,
    Judgement,
    OracleResults,
    Phase,
    Reason,
    Trouble,
    judge,
)
from ..pins.image_lock import ImageLock
from .agent_loop import AgentLoop
from .context import AttemptContext, AttemptInterrupted, LeaseNotKept
from .oracles import AttemptOracles
from .reset import NotProven, PinMismatch, reset
from .setup import SetupNotSeen, set_up

# Device faults that mean a lost phone and not a bad answer.
LOST = TRANSIENT | {"device_unauthorized", "not_ready", "service_missing", "timeout"}


@dataclass(frozen=True)
class JudgedAttempt:
    judgement: Judgement
    reached: bool  # the agent was shown something
    durations: dict[str, float]  # seconds by phase
    oracle_results: OracleResults | None = None  # what was judged, with the next two
    trouble: Trouble | None = None
    spent: Reason = Reason.NONE
    effort: Effort = NO_EFFORT


@dataclass
class Phases:
    """The current phase of an attempt, and the durations of the completed ones."""

    now: Phase = Phase.RESET
    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def enter(self, phase: Phase) -> None:
        now = time.monotonic()
        self.seconds[self.now.value] = round(now - self._since, 3)
        self.now, self._since = phase, now


def attempt(context: AttemptContext, lock: ImageLock) -> JudgedAttempt:
    """Raises AttemptInterrupted if the attempt did not happen (see AttemptContext.void), and
    EvidenceLost if the bundle cannot be written. Every other error is judged."""
    loop, phases = AgentLoop(context), Phases()
    oracles = AttemptOracles(context, loop)
    life, trouble = None, None
    try:
        # The port differs in each attempt; the verifier needs it to render the case again.
        context.bundle.event("device_trace", "site", url=context.site.url)
        reset(context.device, lock, context.bundle, context.limits.reset_s, context.check)
        life = context.device.life()
        phases.enter(Phase.SETUP)
        for step in context.rendered.setup:
            context.check()
            done = set_up(context.device, step, context.limits.setup_s)
            context.bundle.event("device_trace", "setup", **done)
        oracles.before()
        if text := context.restarted_since(life):
            raise DeviceFault("not_ready", text, during="setup")
        if context.agent.info.unconfined:
            context.warn()
        phases.enter(Phase.AGENT)
        context.agent.start(context.rendered.goal, context.limits.agent_start_s)
        loop.run(oracles.watch)
        phases.enter(Phase.ORACLE)
        results = oracles.after()
    except EvidenceLost:
        raise
    except Exception as error:  # a bug of ours is judged as well, with its traceback
        if context.void(error, loop.acted):
            raise AttemptInterrupted(str(error)) from error
        trouble = trouble_of(error, phases.now, context, loop)
        results = oracles.results()
    finally:
        context.agent.close()
    if phases.now is Phase.AGENT and trouble and trouble.reason is not Reason.WORKER_LOST:
        results = _ask_if_reachable(context, oracles)
    if text := context.restarted_since(life):
        # Part of what was seen so far was seen on another device.
        broke = loop.broke_device()
        trouble = Trouble(
            phases.now, Reason.DEVICE_RESTARTED, _with(text, broke), loop.acted,
            agent_did_it=bool(broke),
        )  # fmt: skip
    if trouble and phases.now in (Phase.AGENT, Phase.ORACLE) and context.agent.info.unconfined:
        trouble = replace(trouble, unconfined=True)
    phases.enter(phases.now)
    return JudgedAttempt(
        judge(results, trouble, loop.spent), loop.reached, phases.seconds, results, trouble,
        loop.spent, loop.effort(),
    )  # fmt: skip


def _ask_if_reachable(context: AttemptContext, oracles: AttemptOracles) -> OracleResults:
    """Asks the oracles after the agent failed, if the phone still answers."""
    try:
        if context.reachable():
            return oracles.after()
    except (DeviceFault, DeviceGone) as fault:
        context.bundle.event("device_trace", "unasked", why=str(fault))
    return oracles.results()


def trouble_of(error: Exception, phase: Phase, context: AttemptContext, loop: AgentLoop) -> Trouble:
    """Classifies the error; if the device was lost, with the supervisor's facts about it."""
    text, acted = str(error), loop.acted
    match error:
        case AgentFault():
            return Trouble(phase, error.reason, text, acted)
        case AgentHostLost():
            return Trouble(phase, Reason.HOST_LOST, text, acted, HostFact(None, text=text))
        case NotProven():
            return Trouble(phase, Reason.RESET_NOT_PROVEN, text, host=context.host_fact())
        case PinMismatch():
            return Trouble(phase, Reason.PIN_MISMATCH, text)
        case SetupNotSeen():
            return Trouble(phase, Reason.SETUP_NOT_SEEN, text)
        case DeviceFault():
            lost = error.reason in LOST
            # A phone that was only too slow is still there.
            gone = lost and not (error.reason == "timeout" and context.reachable())
            broke = loop.broke_device() if gone else ""  # before the facts, which end a supervisor
            return Trouble(
                phase, _device_reason(phase, lost), _with(text, broke), acted,
                context.host_fact(loop.adb_restarts), agent_did_it=bool(broke),
            )  # fmt: skip
        case DeviceGone():
            broke = loop.broke_device()
            host = context.host_fact(loop.adb_restarts)
            if error.hung and host.alive:  # also if it goes on by now
                host = replace(host, text=error.hung, found=Reason.EMULATOR_HUNG)
            return Trouble(
                phase, Reason.DEVICE_LOST, _with(text, broke), acted, host,
                agent_did_it=bool(broke),
            )  # fmt: skip
        case LeaseNotKept():
            return Trouble(phase, Reason.WORKER_LOST, text, acted)
        case AttemptInterrupted():  # asked to stop because its device had ended
            broke = loop.broke_device()
            return Trouble(
                phase, Reason.DEVICE_LOST, _with(text, broke), acted, context.host_fact(),
                agent_did_it=bool(broke),
            )  # fmt: skip
        case _:
            text = "".join(traceback.format_exception(error, limit=-8))
            return Trouble(phase, Reason.OTHER, text, acted=True)


def _with(text: str, broke: str) -> str:
    return f"{text}; {broke}" if broke else text


def _device_reason(phase: Phase, lost: bool) -> Reason:
    """A phone that answers otherwise than a sound one does is as good as lost. Nothing of a device
    is `other`: an agent that breaks its phone would hide in it."""
    return Reason.SETUP_NOT_SEEN if phase is Phase.SETUP and not lost else Reason.DEVICE_LOST
