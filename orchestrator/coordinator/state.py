"""Where does the run stand? Every journaled event applied in order, and nothing else.

No clock, no disk, no network: `now` (monotonic seconds) is an argument. Leases' terms count from
the moment an event is applied, so after a restart every open lease has a full term again.
The records are frozen; the State has one owner, the coordinator, which alone applies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..outcome import Outcome
from ..plan.plan import Episode
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
    LeaseGranted,
    LeaseReturned,
    RunOpened,
    RunSealed,
    SegmentOpened,
)


@dataclass(frozen=True)
class Held:
    """An open lease."""

    granted: LeaseGranted
    since: float
    expires: float


@dataclass(frozen=True)
class Progress:
    """What is known of one episode."""

    ended: tuple[AttemptLost | AttemptCommitted, ...] = ()  # its attempts, in order
    token: str | None = None  # of its open lease
    decided: EpisodeDecided | None = None


@dataclass(frozen=True)
class DeviceState:
    """What is known of one device; `seen` is of this process and never journaled."""

    seen: float | None = None  # when its worker was last heard; None: gone, or not yet
    token: str | None = None  # of its open lease
    quarantined: str = ""  # why
    failing: frozenset[str] = frozenset()  # episodes of its unbroken run of infra failures
    note: str = ""  # its last start's
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
    progress: dict[str, Progress] = field(default_factory=dict)
    devices: dict[str, DeviceState] = field(default_factory=dict)
    leases: dict[str, Held] = field(default_factory=dict)
    granted: dict[str, LeaseGranted] = field(default_factory=dict)  # every token ever
    committed: dict[str, AttemptCommitted] = field(default_factory=dict)  # by token
    fenced: dict[str, AttemptFenced] = field(default_factory=dict)  # by token
    pending: dict[str, None] = field(default_factory=dict)  # leasable, longest first
    undecided: int = 0
    infra_attempts: int = 0
    opened: RunOpened | None = None
    sealed: bool = False

    @property
    def finished(self) -> bool:
        return self.undecided == 0


def new_state(
    episodes: Iterable[Episode], expected: dict[str, float], lease_s: float, attempts: int
) -> State:
    by_id = {episode.id: episode for episode in episodes}
    longest_first = sorted(by_id, key=lambda id: -expected[id])  # stable: ties in the plan's order
    return State(
        episodes=by_id,
        expected=expected,
        lease_s=lease_s,
        attempts=attempts,
        progress={id: Progress() for id in by_id},
        pending=dict.fromkeys(longest_first),
        undecided=len(by_id),
    )


def seen(state: State, device: str, now: float) -> None:
    """Its worker was heard."""
    state.devices[device] = replace(_device(state, device), seen=now)


def renew(state: State, token: str, now: float) -> bool:
    """Give an open lease a full term; False where it is not open any more."""
    held = state.leases.get(token)
    if held is None:
        return False
    state.leases[token] = replace(held, expires=now + state.lease_s)
    seen(state, held.granted.device, now)
    return True


def apply(state: State, event: Event, now: float) -> None:
    """What the event changes. It was decided before, so nothing is refused here."""
    match event:
        case SegmentOpened():
            for name, device in state.devices.items():
                state.devices[name] = replace(device, quarantined="", failing=frozenset())
        case RunOpened():
            state.opened = event
        case DeviceStarted():
            device = _device(state, event.device)
            state.devices[event.device] = replace(device, note=event.note, starts=device.starts + 1)
        case DeviceFailed():
            device = _device(state, event.device)
            state.devices[event.device] = replace(
                device, seen=None, note=event.note, failed_starts=device.failed_starts + 1
            )
        case DeviceLost():
            state.devices[event.device] = replace(_device(state, event.device), seen=None)
        case DeviceQuarantined():
            state.devices[event.device] = replace(
                _device(state, event.device), quarantined=event.text
            )
        case LeaseGranted():
            _grant(state, event, now)
        case LeaseReturned():
            _release(state, event.token)
            _queue(state, event.episode)
        case AttemptLost() | AttemptCommitted():
            _end(state, event)
        case AttemptFenced():
            state.fenced[event.token] = event
        case EpisodeDecided():
            progress = state.progress[event.episode]
            state.progress[event.episode] = replace(progress, decided=event)
            state.pending.pop(event.episode, None)
            state.undecided -= 1
        case RunSealed():
            state.sealed = True


def _grant(state: State, event: LeaseGranted, now: float) -> None:
    state.granted[event.token] = event
    state.leases[event.token] = Held(event, now, now + state.lease_s)
    state.pending.pop(event.episode, None)
    progress = state.progress[event.episode]
    state.progress[event.episode] = replace(progress, token=event.token)
    state.devices[event.device] = replace(_device(state, event.device), token=event.token)


def _release(state: State, token: str) -> None:
    granted = state.leases.pop(token).granted
    progress = state.progress[granted.episode]
    state.progress[granted.episode] = replace(progress, token=None)
    state.devices[granted.device] = replace(_device(state, granted.device), token=None)


def _end(state: State, event: AttemptLost | AttemptCommitted) -> None:
    _release(state, event.token)
    if isinstance(event, AttemptCommitted):
        state.committed[event.token] = event
    progress = state.progress[event.episode]
    state.progress[event.episode] = replace(progress, ended=(*progress.ended, event))
    infra = event.outcome is Outcome.INFRA_FAILED
    device = _device(state, event.device)
    state.devices[event.device] = replace(
        device,
        failing=device.failing | {event.episode} if infra else frozenset(),
        attempts=device.attempts + 1,
        infra=device.infra + infra,
    )
    if infra:
        state.infra_attempts += 1
        _queue(state, event.episode)


def _queue(state: State, episode: str) -> None:
    """Back among the pending, before its equals: it may need yet another attempt."""
    expected = state.expected[episode]
    later = [id for id in state.pending if state.expected[id] <= expected]
    state.pending[episode] = None
    for id in later:
        state.pending[id] = state.pending.pop(id)


def _device(state: State, device: str) -> DeviceState:
    return state.devices.get(device, DeviceState())
