"""Who gets which episode, and what follows from how an attempt ended? Pure decisions.

No clock, no disk, no network: `now` and the nonce are arguments. A decision is a transition that
the caller applies and journals, or a word for the worker.

- Longest expected first; one lease per device.
- Only infrastructure earns another attempt, bounded, and on a device that has not tried the
  episode where a live one exists.
- An episode is decided by its first attempt that is not infra_failed, or by its last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..evidence.attempt import AttemptRecord
from ..outcome import Blame, Judgement, Outcome, Phase, Reason
from .lease import Finished, Retired, Wait
from .state import Held, State
from .transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceQuarantined,
    EpisodeDecided,
    LeaseGranted,
    LeaseReturned,
)

QUARANTINE_AFTER = 3  # episodes in a row that a device failed
_AGAIN_S = 1.0


def grant(
    state: State, worker: str, device: str, ask: str, nonce: str, now: float
) -> LeaseGranted | Wait | Finished | Retired:
    """The answer for a device that holds no lease."""
    known = state.devices.get(device)
    assert known is None or known.token is None, f"{device} holds a lease"
    if state.finished:
        return Finished()
    if known is not None and known.quarantined:
        return Retired(known.quarantined)
    for id in state.pending:
        if may_try(state, id, device, now):
            attempt = len(state.progress[id].ended) + 1
            token = f"{id}/{attempt}/{nonce}"
            return LeaseGranted(
                token=token, episode=id, attempt=attempt, device=device, worker=worker, ask=ask
            )
    return Wait(_AGAIN_S)


def may_try(state: State, episode: str, device: str, now: float) -> bool:
    """Not on a device that failed it, while a live one has not; then not where it failed last."""
    tried = [event.device for event in state.progress[episode].ended]
    if device not in tried:
        return True
    others = set(live(state, now)) - {device}
    return others <= set(tried) and (device != tried[-1] or not others)


def live(state: State, now: float) -> Iterator[str]:
    """Devices that hold a lease, or whose worker was heard within a lease's term."""
    for name, device in state.devices.items():
        heard = device.seen is not None and now - device.seen < state.lease_s
        if not device.quarantined and (device.token is not None or heard):
            yield name


def expired(state: State, now: float, spared: Collection[str] = ()) -> list[AttemptLost]:
    """Leases that ran out; those whose bundle is just being stored are spared."""
    return [
        lost(held, Reason.LEASE_EXPIRED, f"not renewed for {state.lease_s:g} s")
        for token, held in state.leases.items()
        if held.expires <= now and token not in spared
    ]


def lost(held: Held, reason: Reason, text: str) -> AttemptLost:
    """An attempt that ended without a bundle."""
    granted = held.granted
    judgement = Judgement(
        # What the agent did by then is unknown, and so are its effects.
        Outcome.INFRA_FAILED, Blame.INFRA, Phase.AGENT, reason, text, violations_known=False
    )  # fmt: skip
    return AttemptLost(
        token=granted.token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
        judgement=judgement,
    )


def returned(held: Held, reason: str) -> LeaseReturned:
    granted = held.granted
    return LeaseReturned(
        token=granted.token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
        reason=reason,
    )


def settle(
    state: State, token: str, record: AttemptRecord, manifest: str, bundle: str
) -> AttemptCommitted | AttemptFenced:
    """The word on a bundle that is stored: scored where its lease is open, else only kept."""
    granted = state.granted[token]
    kind = AttemptCommitted if token in state.leases else AttemptFenced
    return kind(
        token=token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
        started_ms=record.started_ms,
        ended_ms=record.ended_ms,
        durations=record.durations,
        effort=record.effort,
        manifest=manifest,
        bundle=bundle,
        judgement=record.judgement,
    )


def decision_due(state: State, episode: str) -> EpisodeDecided | None:
    """The episode's last word, once its attempts have one."""
    progress = state.progress[episode]
    if progress.decided or not progress.ended:
        return None
    last = progress.ended[-1]
    if last.judgement.retried and len(progress.ended) < state.attempts:
        return None
    return EpisodeDecided(
        episode=episode,
        attempt=last.attempt,
        bundle=last.bundle if isinstance(last, AttemptCommitted) else "",
        judgement=last.judgement,
    )


def quarantine_due(state: State, device: str) -> DeviceQuarantined | None:
    """A device that failed several episodes in a row; one bad case alone blames no device."""
    known = state.devices.get(device)
    if known is None or known.quarantined or len(known.failing) < QUARANTINE_AFTER:
        return None
    cases = {state.episodes[id].case for id in known.failing}
    if len(cases) == 1 and any(each.case not in cases for each in state.episodes.values()):
        return None
    return DeviceQuarantined(
        device=device, text=f"{len(known.failing)} episodes in a row ended infra_failed on it"
    )


def stuck(state: State) -> bool:
    """Episodes are left, nobody holds a lease, and every device that came is in quarantine."""
    devices = [device for device in state.devices.values() if device.seen is not None]
    devices += [device for device in state.devices.values() if device.quarantined]
    return (
        not state.finished
        and not state.leases
        and bool(devices)
        and all(device.quarantined for device in devices)
    )
