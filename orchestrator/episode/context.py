"""Everything that one attempt is played with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..agent.agent import Agent
from ..cases.render import Rendered
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..evidence.bundle import Bundle
from ..outcome import HostFact
from ..pins.profile import Profile
from ..settings import Limits
from .case_site import Site


class AttemptInterrupted(Exception):
    """The worker was asked to stop, or the lease ended before the agent acted: the attempt did not
    happen."""


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
    versions: Mapping[str, str]  # behind every oracle's answer: adb's, the phone's build
    stopped: Callable[[], bool]  # True once the worker was asked to stop
    leased: Callable[[], bool]  # False once the lease has ended
    pause: Callable[[float], object]  # ends early where the worker must stop
    proven: bool | None = None  # the case's controls passed on this image; None: nobody looked

    def check(self) -> None:
        if self.stopped():
            raise AttemptInterrupted("the worker was asked to stop")
        if not self.leased():
            raise LeaseNotKept("the worker lost its lease")

    def void(self, error: Exception, acted: bool) -> bool:
        """Whether an attempt that ended with this error did not happen.

        A run that is ended is nobody's fault, however far the attempt came; and while it ends,
        phones and agents are taken away. Only a device that had ended by itself counts, or an agent
        could make such an end free by waiting for its worker to be stopped.
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
        """How the device is another one than at that time; "" where it is not, or nobody knows."""
        try:
            now = self.device.life()
        except DeviceFault:
            return ""
        if life is None or now == life:
            return ""
        return f"the device was started again during the attempt: {life} became {now}"

    def host_fact(self) -> HostFact:
        """What the supervisor says of the emulator, asked after the device was lost."""
        if self.device.supervisor is None:
            return HostFact(True, text="no supervisor: nobody confirms a host-side cause")
        try:
            facts = self.device.supervisor.facts()
        except DeviceFault as fault:
            return HostFact(None, text=str(fault))
        return HostFact(facts.pid is not None, facts.exit_code, f"the device is {facts.state}")
