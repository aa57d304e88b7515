"""The worker's life: a device that is ready, then lease, attempt, commit, until all is decided."""

from __future__ import annotations

import shutil
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..agent.choose import make_agent
from ..cases.model import Case
from ..cases.render import CaseBroken, render
from ..coordinator.client import CoordinatorAway, CoordinatorClient, LeaseLost
from ..coordinator.lease import Finished, Lease, Retired, Wait
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..episode.attempt import attempt
from ..episode.scene import Interrupted, Scene
from ..episode.site import Site
from ..evidence import attempt as attempt_file
from ..evidence.bundle import Bundle, wall_ms
from ..outcome import Judgement, Phase, Reason, Trouble, judge
from ..pins.lock import ImageLock
from ..pins.profile import Profile
from ..settings import Limits
from .record import summary_document
from .renewal import Renewal
from .staging import put_aside, send, send_sealed

# Exit codes that the fleet reads; STOPPED by somebody else than the fleet is a crash to it.
DONE, DEVICE_UNUSABLE, STOPPED = 0, 3, 143
LOOK_S = 2.0  # between two looks at the emulator while its phone boots


@dataclass(frozen=True)
class Worker:
    client: CoordinatorClient
    device: Device
    name: str  # of the device, as the coordinator knows it
    lock: ImageLock
    profile: Profile
    limits: Limits
    staging: Path  # attempt/ while it is written, sealed-*/ until it is committed
    stop: threading.Event  # set once the worker must leave
    versions: dict[str, str] = field(default_factory=dict)

    def run(self) -> int:
        """An exit code. Whatever an earlier worker sealed here is sent first."""
        send_sealed(self.client, self.staging)
        if not self._boot():
            return DEVICE_UNUSABLE
        loads = 0
        while not self.stop.is_set():
            answer = self.client.lease()
            if isinstance(answer, Finished):
                return DONE
            if isinstance(answer, Retired):
                return DEVICE_UNUSABLE
            if isinstance(answer, Wait):
                continue
            if loads >= self.profile.loads:
                self._recycle()
                loads = 0
            judgement = self._attempt(answer)
            loads += 1
            if judgement is not None and judgement.retried and not self._usable():
                return DEVICE_UNUSABLE
        return STOPPED

    def _boot(self) -> bool:
        """Starting is not an attempt: how it went is journaled by itself."""
        try:
            self._wait_ready()
            identity = self.device.identity()
        except DeviceFault as fault:
            self.client.device_failed("boot", fault.reason, str(fault))
            return False
        self.versions.update(adb=identity.adb_version, fingerprint=identity.fingerprint)
        self.client.device_started(asdict(identity))
        return True

    def _wait_ready(self) -> None:
        """Within the boot's time, and no longer than there is an emulator to wait for."""
        until = time.monotonic() + self.limits.boot_s
        while not (readiness := self.device.wait_ready(LOOK_S)).ready:
            supervisor = self.device.supervisor
            dead = supervisor is not None and not supervisor.healthy()
            if dead or time.monotonic() > until or self.stop.is_set():
                missing = "; ".join(readiness.missing)
                raise DeviceFault("not_ready", missing, during="boot")

    def _recycle(self) -> None:
        """Emulators do not survive any number of snapshot loads."""
        if self.device.supervisor is not None:
            self.device.supervisor.restart()
            self.device.wait_ready(self.limits.boot_s)

    def _usable(self) -> bool:
        supervisor = self.device.supervisor
        return (supervisor is None or supervisor.healthy()) and not self.device.missing()

    def _attempt(self, lease: Lease) -> Judgement | None:
        """One attempt and its commit; None where it was given back or its lease was lost."""
        folder = self.staging / "attempt"
        shutil.rmtree(folder, ignore_errors=True)  # of a worker that was killed in the middle
        try:
            with Renewal(lambda: self._renewed(lease), lease.expires_s) as renewal:
                judgement = self._play(
                    lease, folder, lambda: renewal.kept and not self.stop.is_set()
                )
                send(self.client, put_aside(folder, lease.token, self.staging))
        except Interrupted:
            self.client.give_back(lease.token, "the worker was told to stop")
            return None
        return judgement

    def _renewed(self, lease: Lease) -> bool:
        """False once the lease is gone; a coordinator that is away may come back in time."""
        try:
            self.client.renew(lease.token)
        except CoordinatorAway:
            return True
        except LeaseLost:
            return False
        return True

    def _play(self, lease: Lease, folder: Path, going_on: Callable[[], bool]) -> Judgement:
        bundle, started_ms = Bundle(folder), wall_ms()
        try:
            judgement, reached = self._judged(lease, bundle, going_on)
            record = attempt_file.AttemptRecord(
                episode=lease.episode, attempt=lease.attempt, device=self.name,
                started_ms=started_ms, ended_ms=max(started_ms, wall_ms()),
                **short(judgement),
            )  # fmt: skip
            bundle.document(attempt_file.NAME, record.model_dump(mode="json"))
            if reached:
                bundle.document("summary.json", summary_document(lease, judgement))
        finally:
            bundle.close()
        return judgement

    def _judged(
        self, lease: Lease, bundle: Bundle, going_on: Callable[[], bool]
    ) -> tuple[Judgement, bool]:
        """The judgement, and whether the agent was reached. A bug of ours costs one attempt,
        loudly, and not the run."""
        try:
            with Site() as site:
                case = Case.model_validate(lease.case)
                rendered = render(
                    case, lease.variant, lease.seed, site.url, self.profile.name, lease.site
                )
                site.serve(rendered.site)
                agent = make_agent(lease.agent, rendered, lease.seed)
                scene = Scene(
                    self.device, rendered, agent, bundle, self.profile, self.limits, site,
                    self.versions, going_on, self.stop.wait,
                )  # fmt: skip
                return attempt(scene, self.lock)
        except Interrupted:
            raise
        except CaseBroken as error:
            return judge(None, Trouble(Phase.SETUP, Reason.CASE_BROKEN, str(error))), False
        except Exception:  # noqa: BLE001
            text = traceback.format_exc(limit=-8)
            return judge(None, Trouble(Phase.EVIDENCE, Reason.OTHER, text, acted=True)), False


def short(judgement: Judgement) -> dict[str, Any]:
    """The judgement's fields, its text within what the journal takes."""
    return {**asdict(judgement), "text": judgement.text[: attempt_file.TEXT_LIMIT]}
