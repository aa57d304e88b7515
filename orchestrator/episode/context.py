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
    """The worker was told to stop, or its lease is gone."""


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
    going_on: Callable[[], bool]  # False once the worker must stop
    pause: Callable[[float], object]  # ends early where the worker must stop
    proven: bool | None = None  # the case's controls passed on this image; None: nobody looked

    def check(self) -> None:
        if not self.going_on():
            raise AttemptInterrupted("the worker was told to stop, or lost its lease")

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
