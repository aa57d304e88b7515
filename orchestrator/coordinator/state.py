"""The state of a run: its episodes, devices and leases, made by applying the journal's events.

No clock, no disk, no network: `now` (monotonic seconds) is an argument. A lease's term counts from
the moment its event is applied, so after a restart every open lease has a full term again.
Only the coordinator applies events. The state is changed in place, since a long journal changes it
half a million times before the first lease is granted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..outcome import Outcome, Reason
from ..plan.plan import Episode
from .pending import Pending
from .transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceFailed,
    DeviceLost,
    DeviceQuarantined,
    DeviceStarted,
    EpisodeDecided,
    Event,
    EvidenceMissing,
    LeaseGranted,
    LeaseReturned,
    RunOpened,
    RunSealed,
    SegmentOpened,
    UnconfinedAgent,
)


class OpenLease(NamedTuple):
    """A lease that was granted and has not ended."""

    granted: LeaseGranted
    since: float
    expires: float
    unconfined: bool = False  # its agent can reach its worker


class BundleReference(NamedTuple):
    """A stored bundle whose line is in the journal."""

    manifest: str  # digest
    bundle: str  # folder, from the run's


@dataclass(slots=True)
class EpisodeProgress:
    """The attempts of one episode, its open lease and its outcome."""

    ended: tuple[AttemptLost | AttemptCommitted, ...] = ()  # its attempts, until it is decided
    token: str | None = None  # of its open lease
    decided: Outcome | None = None


@dataclass(slots=True)
class DeviceState:
    """The state of one device; `seen` is never journaled."""

    seen: float | None = None  # time of its worker's last request; None: it is lost, or none came
    token: str | None = None  # of its open lease
    quarantined: str = ""  # why
    failing: frozenset[str] = frozenset()  # episodes that failed on it since it last succeeded
    lost: str = ""  # why, until it starts again
    report_id: str = ""  # of its last start
    starts: int = 0
    failed_starts: int = 0
    attempts: int = 0
    infra: int = 0


@dataclass
class State:
    episodes: dict[str, Episode]
    expected: dict[str, float]  # episode -> seconds
    lease_s: float
    attempts: int  # allowed for one episode
    pending: Pending
    progress: dict[str, EpisodeProgress] = field(default_factory=dict)
    devices: dict[str, DeviceState] = field(default_factory=dict)
    leases: dict[str, OpenLease] = field(default_factory=dict)
    granted: dict[str, LeaseGranted] = field(default_factory=dict)  # every token ever
    committed: dict[str, BundleReference] = field(default_factory=dict)  # by token
    fenced: dict[str, BundleReference] = field(default_factory=dict)  # by token
    missing: set[str] = field(default_factory=set)  # of these, the run went on without the bundle
    outcomes: Counter[Outcome] = field(default_factory=Counter)  # of the episodes decided
    infra_attempts: int = 0
    measured: int = 0  # attempts that were committed and not cut short by infrastructure
    measured_s: float = 0.0  # what they took
    foreseen_s: float = 0.0  # what was expected of them
    opened: RunOpened | None = None
    claim: int = 0  # of the coordinator that wrote the last segment
    sealed: bool = False

    @property
    def undecided(self) -> int:
        return len(self.episodes) - self.outcomes.total()

    @property
    def finished(self) -> bool:
        return self.undecided == 0


def new_state(
    episodes: Iterable[Episode], expected: dict[str, float], lease_s: float, attempts: int
) -> State:
    by_id = {episode.id: episode for episode in episodes}
    return State(
        episodes=by_id,
        expected=expected,
        lease_s=lease_s,
        attempts=attempts,
        progress={id: EpisodeProgress() for id in by_id},
        pending=Pending(by_id, expected),
    )


def mark_seen(state: State, device: str, now: float) -> None:
    """A request of the device's worker came."""
    _device(state, device).seen = now


def renew(state: State, token: str, now: float) -> bool:
    """Give an open lease a full term; False if it has ended."""
    held = state.leases.get(token)
    if held is None:
        return False
    state.leases[token] = held._replace(expires=now + state.lease_s)
    mark_seen(state, held.granted.device, now)
    return True


def apply(state: State, event: Event, now: float) -> None:
    """Change the state by one event. Events are decided before, so none is refused here."""
    match event:
        case LeaseGranted():  # the most frequent events come first
            _grant(state, event, now)
        case EpisodeDecided():
            progress = state.progress[event.episode]
            progress.decided, progress.ended = event.judgement.outcome, ()
            state.pending.take(event.episode)
            state.outcomes[event.judgement.outcome] += 1
        case AttemptCommitted() | AttemptLost():
            _end(state, event)
        case UnconfinedAgent():
            state.leases[event.token] = state.leases[event.token]._replace(unconfined=True)
        case LeaseReturned():
            _release(state, event)
            state.pending.put_back(event.episode)
        case AttemptFenced():
            state.fenced[event.token] = BundleReference(event.manifest, event.bundle)
        case SegmentOpened():
            state.claim = event.claim
            for device in state.devices.values():
                device.quarantined, device.failing = "", frozenset()
        case RunOpened():
            state.opened = event
        case DeviceStarted():
            device = _device(state, event.device)
            device.report_id, device.lost = event.report_id, ""
            device.starts += 1
        case DeviceFailed():
            device = _device(state, event.device)
            device.seen, device.report_id = None, event.report_id
            device.failed_starts += 1
        case DeviceLost():
            device = _device(state, event.device)
            device.seen = None
            if event.reason is not Reason.WORKER_LOST:  # its next worker may be here already
                device.lost = event.text or event.cause
        case DeviceQuarantined():
            _device(state, event.device).quarantined = event.text
        case EvidenceMissing():
            state.missing.add(event.token)
        case RunSealed():
            state.sealed = True


def _grant(state: State, event: LeaseGranted, now: float) -> None:
    state.granted[event.token] = event
    state.leases[event.token] = OpenLease(event, now, now + state.lease_s)
    state.pending.take(event.episode)
    state.progress[event.episode].token = event.token
    _device(state, event.device).token = event.token


def _release(state: State, event: LeaseReturned | AttemptLost | AttemptCommitted) -> None:
    del state.leases[event.token]
    state.progress[event.episode].token = None
    _device(state, event.device).token = None


def _end(state: State, event: AttemptLost | AttemptCommitted) -> None:
    _release(state, event)
    if isinstance(event, AttemptCommitted):
        state.committed[event.token] = BundleReference(event.manifest, event.bundle)
    state.progress[event.episode].ended += (event,)
    device = _device(state, event.device)
    device.attempts += 1
    if event.judgement.outcome is Outcome.INFRA_FAILED:
        device.infra += 1
        device.failing |= {event.episode}
        state.infra_attempts += 1
        state.pending.put_back(event.episode)
        return
    device.failing = frozenset()
    if isinstance(event, AttemptCommitted):
        state.measured += 1
        state.measured_s += (event.ended_ms - event.started_ms) / 1000
        state.foreseen_s += state.expected[event.episode]


def _device(state: State, name: str) -> DeviceState:
    known = state.devices.get(name)
    if known is None:
        known = state.devices[name] = DeviceState()
    return known
