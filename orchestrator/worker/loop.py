"""The worker's loop: boots its device, plays and commits attempts, restarts worn emulators."""

from __future__ import annotations

import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..agent.spec import make_agent
from ..cases.model import Case
from ..cases.render import CaseBroken, render
from ..coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused, LeaseLost
from ..coordinator.messages import DeviceRetired, Lease, NothingToLease, RunFinished
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..device.presence import DeviceGone
from ..episode.attempt import JudgedAttempt, attempt
from ..episode.case_site import Site
from ..episode.context import AttemptContext, AttemptInterrupted
from ..evidence import attempt as attempt_file
from ..evidence.bundle import Bundle, EvidenceLost, replace_surrogates, wall_ms
from ..outcome import Cause, EmulatorAge, Judgement, OracleResults, Phase, Reason, Trouble, judge
from ..pins.host import host_facts
from ..pins.image_lock import ImageLock
from ..pins.mismatch import compared_pins, mismatches
from ..pins.profile import Profile
from .agent_host import CoordinatorAgentHost, confined
from .arguments import WorkerExit
from .emulator_age import EmulatorWear
from .staging import begin_attempt, discard_attempt, seal_attempt, send_attempt, send_sealed
from .unconfined import UnconfinedWarning

CHECK_S = 2.0  # between two checks of the emulator while its phone boots
LEASE_WAIT_S = 5.0  # a worker that is asked to stop meanwhile leaves only after it
PAUSE_S = 0.05  # before the next request for a lease


@dataclass(frozen=True)
class Worker:
    client: CoordinatorClient
    device: Device
    name: str  # of the device, as the coordinator knows it
    lock: ImageLock
    profile: Profile
    boot_s: float
    staging: Path  # attempt/ while it is written, sealed-*/ until it is committed
    stop: threading.Event  # set once the worker must leave
    versions: dict[str, str] = field(default_factory=dict)

    def run(self) -> WorkerExit:
        """Work until the run ends. What an earlier worker sealed here is sent first."""
        send_sealed(self.client, self.staging)
        wear = EmulatorWear(self.device.supervisor)
        if not self._boot(wear):
            return self._not_ready()
        while not self.stop.is_set():
            # An emulator survives a limited number of loads. It is restarted without a lease, which
            # would expire meanwhile.
            if wear.loads >= self.profile.loads and not self._restart(wear):
                return self._not_ready()
            answer = self.client.lease(LEASE_WAIT_S)
            if isinstance(answer, RunFinished):
                return WorkerExit.ALL_DECIDED
            if isinstance(answer, DeviceRetired):
                return WorkerExit.DEVICE_UNUSABLE
            if isinstance(answer, NothingToLease):
                self.stop.wait(PAUSE_S)
                continue
            judgement = self._attempt(answer, wear.begin_attempt())
            if judgement is not None and judgement.retried and not self._usable(judgement):
                return WorkerExit.DEVICE_UNUSABLE
        return WorkerExit.STOPPED

    def _not_ready(self) -> WorkerExit:
        return WorkerExit.STOPPED if self.stop.is_set() else WorkerExit.DEVICE_UNUSABLE

    def _boot(self, wear: EmulatorWear) -> bool:
        """Whether the device is ready. A start is no attempt and is journaled by itself."""
        try:
            self._wait_ready()
            boot_s = wear.booted(self.boot_s)
            identity = self.device.identity()
            pins = self.device.observed_pins(identity.fingerprint)
        except (DeviceFault, DeviceGone) as fault:
            if not self.stop.is_set():  # else the boot was not waited for
                self._report_fault(fault)
            return False
        if wrong := mismatches(self.lock, pins):
            text = "; ".join(wrong)
            self.client.device_failed("boot", Reason.PIN_MISMATCH, Cause.UNUSABLE, text)
            return False
        self.versions.update(adb=identity.adb_version, fingerprint=identity.fingerprint)
        facts = {"pins": compared_pins(self.lock, pins), "host": host_facts()}
        self.client.device_started({**asdict(identity), **facts}, boot_s)
        return True

    def _report_fault(self, fault: DeviceFault | DeviceGone) -> None:
        if isinstance(fault, DeviceGone):
            cause = Cause.UNUSABLE if fault.hung else Cause.EXITED
        elif self._ended():
            cause = Cause.EXITED
        else:
            cause = Cause.START_TIMEOUT if fault.reason == "not_ready" else Cause.UNUSABLE
        self.client.device_failed("boot", fault.reason, cause, str(fault))

    def _wait_ready(self) -> None:
        """Wait for the boot within its time. DeviceGone if the emulator ends or hangs."""
        until = time.monotonic() + self.boot_s
        while not (readiness := self.device.wait_ready(CHECK_S)).ready:
            if time.monotonic() > until or self.stop.is_set():
                raise DeviceFault("not_ready", "; ".join(readiness.missing), during="boot")

    def _restart(self, wear: EmulatorWear) -> bool:
        wear.restarted()
        if self.device.supervisor is None:
            return True
        try:
            self.device.supervisor.restart()
        except DeviceFault as fault:
            self._report_fault(fault)
            return False
        return self._boot(wear)

    def _usable(self, judgement: Judgement) -> bool:
        """Whether another attempt on this device may go better; a wrong pin stays wrong."""
        if judgement.reason is Reason.PIN_MISMATCH:
            return False
        try:
            return not self.device.missing()
        except DeviceGone:
            return False

    def _ended(self) -> bool:
        """Whether the emulator ended, as far as its supervisor reports."""
        supervisor = self.device.supervisor
        try:
            return supervisor is not None and supervisor.health().state == "ended"
        except DeviceFault:
            return True

    def _attempt(self, lease: Lease, age: EmulatorAge | None) -> Judgement | None:
        """Play and commit one attempt; None if it did not happen and the lease was given back."""
        folder = begin_attempt(self.staging, lease.token)
        try:
            with renewing(self.client, lease.token, lease.expires_s) as leased:
                judgement = self._play(lease, folder, leased, age)
                send_attempt(self.client, seal_attempt(self.staging))
        except AttemptInterrupted as why:
            self.client.give_back(lease.token, str(why))
            discard_attempt(self.staging)
            return None
        return judgement

    def _play(
        self, lease: Lease, folder: Path, leased: Callable[[], bool], age: EmulatorAge | None
    ) -> Judgement:
        started_ms = wall_ms()
        warning = UnconfinedWarning(self.client, lease.token)
        try:
            with Bundle(folder) as bundle:
                played = self._played(lease, bundle, leased, warning)
                bundle.document(attempt_file.NAME, self._record(lease, played, started_ms, age))
                if played.reached:
                    bundle.document(attempt_file.SUMMARY, _summary(lease, played.judgement))
        except EvidenceLost as error:
            # The bundle is not whole and may be what fills the disk: only its record is kept.
            shutil.rmtree(folder, ignore_errors=True)
            reason = Reason.DISK_FULL if error.full else Reason.EVIDENCE_LOST
            played = not_played(
                Trouble(Phase.EVIDENCE, reason, str(error), unconfined=warning.given)
            )
            folder.mkdir(exist_ok=True)
            record = self._record(lease, played, started_ms, age)
            Bundle(folder).document(attempt_file.NAME, record)
        return played.judgement

    def _record(
        self, lease: Lease, played: JudgedAttempt, started_ms: int, age: EmulatorAge | None
    ) -> dict[str, Any]:
        return attempt_file.AttemptRecord(
            episode=lease.episode, attempt=lease.attempt, device=self.name,
            started_ms=started_ms, ended_ms=max(started_ms, wall_ms()),
            durations=played.durations, effort=played.effort, age=age,
            oracle_results=_bounded(played.oracle_results), trouble=_bounded(played.trouble),
            spent=played.spent, judgement=_bounded(played.judgement),
        ).model_dump(mode="json")  # fmt: skip

    def _played(
        self, lease: Lease, bundle: Bundle, leased: Callable[[], bool], warning: UnconfinedWarning
    ) -> JudgedAttempt:
        """A bug in the farm costs one attempt, which is counted, and not the run."""
        try:
            with Site() as site:
                case = Case.model_validate(lease.case)
                rendered = render(
                    case, lease.variant, lease.seed, site.url, self.profile.name, lease.site
                )
                site.serve(rendered.site, rendered.responses)
                agent = make_agent(
                    lease.agent, rendered, lease.seed, CoordinatorAgentHost(self.client),
                    partial(confined, self.staging, lease.agent_ports),
                )  # fmt: skip
                context = AttemptContext(
                    self.device, rendered, agent, bundle, self.profile, lease.limits, site,
                    self.versions, self.stop.is_set, leased, self.stop.wait, lease.proven,
                    warning.give,
                )  # fmt: skip
                return attempt(context, self.lock)
        except (AttemptInterrupted, EvidenceLost):
            raise
        except CaseBroken as error:
            return not_played(Trouble(Phase.SETUP, Reason.CASE_BROKEN, str(error)))
        except Exception:  # noqa: BLE001 - every error is kept in the text and counted
            text = traceback.format_exc(limit=-8)
            return not_played(Trouble(Phase.SETUP, Reason.OTHER, text, acted=True))


@contextmanager
def renewing(client: CoordinatorClient, token: str, term_s: float) -> Iterator[Callable[[], bool]]:
    """Renews a lease in a thread, at a third of its term; yields whether it has not ended yet."""
    over, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not lost.is_set() and not over.wait(term_s / 3):
            try:
                with suppress(CoordinatorAway):  # it may come back in time
                    client.renew(token)
            except (LeaseLost, CoordinatorRefused):
                lost.set()

    thread = threading.Thread(target=renew, name="renewal", daemon=True)
    thread.start()
    try:
        yield lambda: not lost.is_set()
    finally:
        over.set()
        thread.join(timeout=30)


W = TypeVar("W", OracleResults | None, Trouble | None, Judgement)


def _bounded(part: W) -> W:
    """With its text cut. The same cut everywhere, so that judging again gives the same text."""
    if part is None:
        return part
    return replace(part, text=replace_surrogates(part.text)[: attempt_file.TEXT_LIMIT])


def _summary(lease: Lease, judgement: Judgement) -> dict[str, Any]:
    episode = {"case_id": lease.case["id"], "variant": lease.variant, "seed": lease.seed}
    return episode | attempt_file.summary_fields(judgement)


def not_played(trouble: Trouble) -> JudgedAttempt:
    return JudgedAttempt(judge(None, trouble), False, {}, trouble=trouble)
