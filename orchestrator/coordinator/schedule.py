"""The scheduler: which device gets which episode, retries, quarantine and the end of an episode.

Pure: no clock, no disk, no network; `now` and the nonce are arguments. A decision is a transition
that the caller applies and journals, or an answer to the worker.

- The episode that is expected to take longest is leased first; a device has one lease at a time.
- Only an infrastructure failure earns another attempt. Attempts are bounded, and a retry goes to a
  device that has not tried the episode, if a live one exists.
- An episode is decided by its first attempt that is not infra_failed, or by its last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..evidence.attempt import AttemptRecord
from ..outcome import CONFIRMED, Blame, Cause, Judgement, Outcome, Phase, Reason
from .messages import DeviceRetired, NothingToLease, RunFinished
from .state import OpenLease, State
from .transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceQuarantined,
    EpisodeDecided,
    LeaseGranted,
    LeaseReturned,
    UnconfinedAgent,
)

QUARANTINE_AFTER = 3  # episodes in a row that ended infra_failed on a device
_AGAIN_S = 1.0


def grant(
    state: State, worker: str, device: str, request_id: str, nonce: str, now: float
) -> LeaseGranted | NothingToLease | RunFinished | DeviceRetired:
    """The answer to a lease request of a device that holds no lease."""
    known = state.devices.get(device)
    assert known is None or known.token is None, f"{device} holds a lease"
    if state.finished:
        return RunFinished()
    if known is not None and known.quarantined:
        return DeviceRetired(known.quarantined)
    if known is not None and known.lost:  # its worker may live where nobody reaches its Pod
        return DeviceRetired(f"this device was lost: {known.lost}")
    for id in state.pending:
        if may_try(state, id, device, now):
            attempt = len(state.progress[id].ended) + 1
            token = f"{id}/{attempt}/{nonce}"
            return LeaseGranted(
                token=token,
                episode=id,
                attempt=attempt,
                device=device,
                worker=worker,
                request_id=request_id,
            )
    return NothingToLease(_AGAIN_S)


def may_try(state: State, episode: str, device: str, now: float) -> bool:
    """Not on a device where it failed while a live one has not tried it; then not where it failed
    last."""
    tried = [event.device for event in state.progress[episode].ended]
    if device not in tried:
        return True
    others = set(live(state, now)) - {device}
    return others <= set(tried) and (device != tried[-1] or not others)


def live(state: State, now: float) -> Iterator[str]:
    """Devices that hold a lease, or whose worker sent a request within a lease's term."""
    for name, device in state.devices.items():
        recent = device.seen is not None and now - device.seen < state.lease_s
        retired = device.quarantined or device.lost
        if not retired and (device.token is not None or recent):
            yield name


def expired(state: State, now: float, spared: Collection[str] = ()) -> list[AttemptLost]:
    """Ends the leases that expired, except those whose bundle is being stored."""
    return [
        attempt_lost(held, Reason.LEASE_EXPIRED, f"not renewed for {state.lease_s:g} s", now)
        for token, held in state.leases.items()
        if held.expires <= now and token not in spared
    ]


def attempt_lost(
    held: OpenLease, reason: Reason, text: str, now: float, cause: Cause = Cause.UNKNOWN
) -> AttemptLost:
    """An attempt that ended without a bundle. An unconfined agent may have ended it itself, which
    must not give it another one."""
    granted = held.granted
    outcome, blame = Outcome.INFRA_FAILED, Blame.INFRA
    if held.unconfined and cause not in CONFIRMED:
        outcome, blame = Outcome.ORACLE_INCONCLUSIVE, Blame.NONE
        reason, text = Reason.UNCONFIRMED_LOSS, f"{reason}: {text}"
    judgement = Judgement(
        # Nobody knows what the agent had done, so its effects are unknown.
        outcome, blame, Phase.AGENT, reason, text, violations_known=False
    )  # fmt: skip
    return AttemptLost(
        token=granted.token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
        held_s=round(max(0.0, now - held.since), 3),
        judgement=judgement,
    )


def unconfined_agent(held: OpenLease) -> UnconfinedAgent:
    granted = held.granted
    return UnconfinedAgent(
        token=granted.token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
    )


def lease_returned(held: OpenLease, reason: str) -> LeaseReturned:
    granted = held.granted
    return LeaseReturned(
        token=granted.token,
        episode=granted.episode,
        attempt=granted.attempt,
        device=granted.device,
        reason=reason,
    )


def bundle_stored(
    state: State, token: str, record: AttemptRecord, manifest: str, bundle: str, bundle_bytes: int
) -> AttemptCommitted | AttemptFenced:
    """A stored bundle is scored if its lease is open; otherwise it is only kept. A judgement that
    does not follow from the bundle's facts is no score."""
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
        age=record.age,
        manifest=manifest,
        bundle=bundle,
        bundle_bytes=bundle_bytes,
        judgement=record.scored,
    )


def decision_due(state: State, episode: str) -> EpisodeDecided | None:
    """The episode's decision, once its attempts allow one."""
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
    """Quarantine for a device on which several episodes in a row failed; one bad case
    does not count."""
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
    """Episodes are undecided, no lease is open, and every known device is in quarantine."""
    devices = [device for device in state.devices.values() if device.seen is not None]
    devices += [device for device in state.devices.values() if device.quarantined]
    return (
        not state.finished
        and not state.leases
        and bool(devices)
        and all(device.quarantined for device in devices)
    )
