"""The worker's life: a device that is ready, then lease, attempt, commit, until all is decided."""

from __future__ import annotations

import shutil
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ..agent.spec import make_agent
from ..cases.model import Case
from ..cases.render import CaseBroken, render
from ..coordinator.client import CoordinatorAway, CoordinatorClient, CoordinatorRefused, LeaseLost
from ..coordinator.lease import Finished, Lease, Retired, Wait
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..episode.attempt import AttemptResult, attempt
from ..episode.case_site import Site
from ..episode.context import AttemptContext, AttemptInterrupted
from ..evidence import attempt as attempt_file
from ..evidence.bundle import Bundle, EvidenceLost, replace_surrogates, wall_ms
from ..outcome import Asked, Judgement, Phase, Reason, Trouble, judge
from ..pins.image_lock import ImageLock
from ..pins.mismatch import compared_pins, mismatches
from ..pins.profile import Profile
from .agents import AskedFor
from .exit_codes import WorkerExit
from .record import summary_document
from .renewal import Renewal
from .staging import begin, discard, put_aside, send, send_sealed

LOOK_S = 2.0  # between two looks at the emulator while its phone boots
LEASE_WAIT_S = 5.0  # a worker that is told to stop meanwhile leaves only after it
BREATH_S = 0.05  # before a coordinator that has nothing is asked again


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
        """Whatever an earlier worker sealed here is sent first."""
        send_sealed(self.client, self.staging)
        if not self._boot():
            return self._not_ready()
        loads = 0
        while not self.stop.is_set():
            if loads >= self.profile.loads:
                # Emulators do not survive any number of loads. Not under a lease: it would expire.
                if not self._restart():
                    return self._not_ready()
                loads = 0
            answer = self.client.lease(LEASE_WAIT_S)
            if isinstance(answer, Finished):
                return WorkerExit.ALL_DECIDED
            if isinstance(answer, Retired):
                return WorkerExit.DEVICE_UNUSABLE
            if isinstance(answer, Wait):
                self.stop.wait(BREATH_S)
                continue
            judgement = self._attempt(answer)
            loads += 1
            if judgement is not None and judgement.retried and not self._usable(judgement):
                return WorkerExit.DEVICE_UNUSABLE
        return WorkerExit.STOPPED

    def _not_ready(self) -> WorkerExit:
        return WorkerExit.STOPPED if self.stop.is_set() else WorkerExit.DEVICE_UNUSABLE

    def _boot(self) -> bool:
        """Starting is not an attempt: how it went is journaled by itself."""
        try:
            self._wait_ready()
            identity = self.device.identity()
            pins = self.device.observed_pins(identity.fingerprint)
        except DeviceFault as fault:
            if not self.stop.is_set():  # else it was not waited for
                self.client.device_failed("boot", fault.reason, str(fault))
            return False
        if wrong := mismatches(self.lock, pins):
            self.client.device_failed("boot", Reason.PIN_MISMATCH, "; ".join(wrong))
            return False
        self.versions.update(adb=identity.adb_version, fingerprint=identity.fingerprint)
        self.client.device_started({**asdict(identity), "pins": compared_pins(self.lock, pins)})
        return True

    def _wait_ready(self) -> None:
        """Within the boot's time, and no longer than there is an emulator to wait for."""
        until = time.monotonic() + self.boot_s
        while not (readiness := self.device.wait_ready(LOOK_S)).ready:
            supervisor = self.device.supervisor
            dead = supervisor is not None and not supervisor.healthy()
            if dead or time.monotonic() > until or self.stop.is_set():
                missing = "; ".join(readiness.missing)
                raise DeviceFault("not_ready", missing, during="boot")

    def _restart(self) -> bool:
        if self.device.supervisor is None:
            return True
        try:
            self.device.supervisor.restart()
        except DeviceFault as fault:
            self.client.device_failed("boot", fault.reason, str(fault))
            return False
        return self._boot()

    def _usable(self, judgement: Judgement) -> bool:
        """Whether another attempt may go better here; a wrong pin stays wrong."""
        if judgement.reason is Reason.PIN_MISMATCH:
            return False
        supervisor = self.device.supervisor
        return (supervisor is None or supervisor.healthy()) and not self.device.missing()

    def _attempt(self, lease: Lease) -> Judgement | None:
        """One attempt and its commit; None where it did not happen: the lease is given back."""
        folder = begin(self.staging, lease.token)
        try:
            with Renewal(lambda: self._renewed(lease), lease.expires_s) as renewal:
                judgement = self._play(lease, folder, lambda: renewal.kept)
                send(self.client, put_aside(self.staging))
        except AttemptInterrupted as why:
            self.client.give_back(lease.token, str(why))
            discard(self.staging)
            return None
        return judgement

    def _renewed(self, lease: Lease) -> bool:
        """False once the lease is gone; a coordinator that is away may come back in time."""
        try:
            self.client.renew(lease.token)
        except CoordinatorAway:
            return True
        except (LeaseLost, CoordinatorRefused):
            return False
        return True

    def _play(self, lease: Lease, folder: Path, leased: Callable[[], bool]) -> Judgement:
        started_ms = wall_ms()
        try:
            with Bundle(folder) as bundle:
                played = self._played(lease, bundle, leased)
                bundle.document(attempt_file.NAME, self._record(lease, played, started_ms))
                if played.reached:
                    bundle.document("summary.json", summary_document(lease, played.judgement))
        except EvidenceLost as error:
            # What is there is not whole and may be what fills the disk: only the word of it stays.
            shutil.rmtree(folder, ignore_errors=True)
            reason = Reason.DISK_FULL if error.full else Reason.EVIDENCE_LOST
            played = unplayed(Trouble(Phase.EVIDENCE, reason, str(error)))
            folder.mkdir(exist_ok=True)
            Bundle(folder).document(attempt_file.NAME, self._record(lease, played, started_ms))
        return played.judgement

    def _record(self, lease: Lease, played: AttemptResult, started_ms: int) -> dict[str, Any]:
        asked, trouble = _short(played.asked), _short(played.trouble)
        judgement = _short(played.judgement)
        return attempt_file.AttemptRecord(
            episode=lease.episode, attempt=lease.attempt, device=self.name,
            started_ms=started_ms, ended_ms=max(started_ms, wall_ms()),
            durations=played.durations, effort=played.effort, asked=asked, trouble=trouble,
            spent=played.spent, judgement=judgement,
        ).model_dump(mode="json")  # fmt: skip

    def _played(self, lease: Lease, bundle: Bundle, leased: Callable[[], bool]) -> AttemptResult:
        """A bug of ours costs one attempt, loudly, and not the run."""
        try:
            with Site() as site:
                case = Case.model_validate(lease.case)
                rendered = render(
                    case, lease.variant, lease.seed, site.url, self.profile.name, lease.site
                )
                site.serve(rendered.site, rendered.responses)
                agent = make_agent(lease.agent, rendered, lease.seed, AskedFor(self.client))
                context = AttemptContext(
                    self.device, rendered, agent, bundle, self.profile, lease.limits, site,
                    self.versions, self.stop.is_set, leased, self.stop.wait, proven=lease.proven,
                )  # fmt: skip
                return attempt(context, self.lock)
        except (AttemptInterrupted, EvidenceLost):
            raise
        except CaseBroken as error:
            return unplayed(Trouble(Phase.SETUP, Reason.CASE_BROKEN, str(error)))
        except Exception:  # noqa: BLE001 - whatever it is, it is kept in the text and counted
            text = traceback.format_exc(limit=-8)
            return unplayed(Trouble(Phase.SETUP, Reason.OTHER, text, acted=True))


W = TypeVar("W", Asked | None, Trouble | None, Judgement)


def _short(word: W) -> W:
    """The same words bounded everywhere, so that judging again gives them again."""
    if word is None:
        return word
    return replace(word, text=replace_surrogates(word.text)[: attempt_file.TEXT_LIMIT])


def unplayed(trouble: Trouble) -> AttemptResult:
    return AttemptResult(judge(None, trouble), False, {}, trouble=trouble)
