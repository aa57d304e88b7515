"""The context of one attempt: device, case, agent, bundle, limits, and whether to continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..agent.agent import Agent
from ..cases.render import Rendered
from ..device.deadline import Deadline
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..device.presence import DeviceGone
from ..evidence.bundle import Bundle
from ..outcome import HostFact, Reason
from ..pins.profile import Profile
from ..settings import Limits
from .case_site import Site

DOUBT_S = 120.0  # in which a supervisor's looks settle whether a device hangs
DOUBT_POLL_S = 0.2


class AttemptInterrupted(Exception):
    """The attempt did not happen: the worker must stop, or its lease ended before an action."""


class LeaseNotKept(AttemptInterrupted):
    """The lease has ended: what was done under it is never scored."""


@dataclass(frozen=True)
class AttemptContext:
    device: Device
    rendered: Rendered
    agent: Agent
    bundle: Bundle
    profile: Profile
    limits: Limits
    site: Site
    versions: Mapping[str, str]  # of adb and the phone's build
    stopped: Callable[[], bool]  # True once the worker was asked to stop
    leased: Callable[[], bool]  # False once the lease has ended
    pause: Callable[[float], object]  # ends early if the worker must stop
    proven: bool | None = None  # the case's controls passed on this image; None: unknown
    # Called before an unconfined agent is started; raises LeaseNotKept.
    warn: Callable[[], None] = lambda: None

    def check(self) -> None:
        if self.stopped():
            raise AttemptInterrupted("the worker was asked to stop")
        if not self.leased():
            raise LeaseNotKept("the worker lost its lease")

    def void(self, error: Exception, acted: bool) -> bool:
        """Whether an attempt that ended with this error did not happen.

        The end of a run is no fault, however far the attempt had come, and while a run ends its
        phones and agents are taken away. A device that had ended by itself does count: otherwise an
        agent could hide such an end by waiting for its worker to be stopped.
        """
        if self.stopped():
            return not self._device_ended()
        return isinstance(error, LeaseNotKept) and not acted

    def _device_ended(self) -> bool:
        try:
            return self.device.supervisor is not None and self.device.supervisor.facts().ended
        except DeviceFault:
            return False

    def restarted_since(self, life: str | None) -> str:
        """Says how the device's life differs from `life`; empty if it does not or is unknown."""
        try:
            now = self.device.life()
        except DeviceFault:
            return ""
        if life is None or now == life:
            return ""
        return f"the device was started again during the attempt: {life} became {now}"

    def reachable(self) -> bool:
        """Whether the phone answers."""
        try:
            return self.device.adb_socket.shell("true", timeout=5).ok
        except (DeviceFault, DeviceGone):
            return False

    def log(self, count: int) -> str:
        """The tail of the emulator's log; empty where nobody keeps one."""
        try:
            return "" if self.device.supervisor is None else self.device.supervisor.log(count)
        except DeviceFault:
            return ""

    def adb_restarts(self) -> int | None:
        """How often the adb server was started again; None if nobody says."""
        try:
            supervisor = self.device.supervisor
            return None if supervisor is None else supervisor.facts().adb_restarts
        except DeviceFault:
            return None

    def host_fact(self, adb_restarts: int | None = None) -> HostFact:
        """The supervisor's facts about the emulator, queried after the device was lost.

        `adb_restarts` is their number when the agent began. Where the supervisor has a doubt it is
        asked until that is settled, since only a hang that is confirmed counts.
        """
        supervisor, settled = self.device.supervisor, Deadline(DOUBT_S)
        if supervisor is None:
            return HostFact(True, text="no supervisor: a host-side cause cannot be confirmed")
        try:
            facts = supervisor.facts()
            while facts.doubtful and not facts.hung and not settled.passed:
                time.sleep(DOUBT_POLL_S)
                facts = supervisor.facts()
        except DeviceFault as fault:
            return HostFact(None, text=str(fault))
        alive, text = facts.pid is not None, f"the device is {facts.state}"
        if facts.hung:
            return HostFact(alive, facts.exit_code, facts.hung, Reason.EMULATOR_HUNG)
        if facts.adb_lost and adb_restarts is not None and facts.adb_restarts > adb_restarts:
            return HostFact(alive, facts.exit_code, facts.adb_lost, Reason.ADB_SERVER_LOST)
        return HostFact(alive, facts.exit_code, text)
