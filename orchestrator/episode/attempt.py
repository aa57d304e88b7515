"""One attempt, as a script: reset, set up, let the agent act, ask the oracles, judge."""

from __future__ import annotations

import errno

from ..agent.agent import AgentFault
from ..device.faults import TRANSIENT, DeviceFault
from ..outcome import Judgement, Phase, Reason, Trouble, judge
from ..pins.lock import ImageLock
from .asking import Asking, reachable
from .reset import NotProven, reset
from .scene import Scene
from .setup import SetupNotSeen, set_up
from .steps import Steps

# A device fault that means the phone is gone, not that it answered badly.
LOST = TRANSIENT | {"device_unauthorized", "not_ready", "service_missing", "timeout"}


def attempt(scene: Scene, lock: ImageLock) -> tuple[Judgement, bool]:
    """The judgement, and whether the agent was reached."""
    steps = Steps(scene)
    asking = Asking(scene, steps)
    phase, trouble = Phase.RESET, None
    try:
        reset(scene.device, lock, scene.bundle, scene.limits.reset_s)
        phase = Phase.SETUP
        for step in scene.rendered.setup:
            scene.check()
            done = set_up(scene.device, step, scene.limits.setup_s)
            scene.bundle.event("device_trace", "setup", **done)
        asking.before()
        phase = Phase.AGENT
        scene.agent.start(scene.rendered.goal, scene.limits.agent_start_s)
        steps.run(asking.watch)
        phase = Phase.ORACLE
        asked = asking.after()
    except (DeviceFault, AgentFault, NotProven, SetupNotSeen, OSError) as error:
        trouble = trouble_of(error, phase, scene, steps)
        asked = asking.unasked()
    finally:
        scene.agent.close()
    if phase is Phase.AGENT and steps.reached and reachable(scene):
        try:
            asked = asking.after()
        except DeviceFault as fault:
            scene.bundle.event("device_trace", "unasked", why=str(fault))
    return judge(asked, trouble, steps.spent), steps.reached


def trouble_of(error: Exception, phase: Phase, scene: Scene, steps: Steps) -> Trouble:
    """What the error means, with what the supervisor says where the device was lost."""
    text = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else str(error)
    match error:
        case AgentFault():
            return Trouble(phase, error.reason, text, steps.acted)
        case NotProven():
            return Trouble(phase, Reason.RESET_NOT_PROVEN, text, host=scene.host_fact())
        case SetupNotSeen():
            return Trouble(phase, Reason.SETUP_NOT_SEEN, text)
        case DeviceFault():
            lost = not steps.acted or error.reason in LOST
            reason = Reason.DEVICE_LOST if lost else Reason.OTHER
            return Trouble(
                phase, reason, text, steps.acted, scene.host_fact(), steps.cut_adb and lost
            )
        case OSError(errno=errno.ENOSPC):
            return Trouble(Phase.EVIDENCE, Reason.DISK_FULL, text, steps.acted)
        case _:
            return Trouble(Phase.EVIDENCE, Reason.EVIDENCE_LOST, text, steps.acted)
