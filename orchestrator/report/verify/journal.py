"""Verifies a journal by replaying it: each line must follow from the lines before it.

The hash chain proves that these lines were written. The replay proves that a coordinator could
have written them: one device at a time holds a lease, only an infrastructure failure leads to
another attempt, and every decision is the scheduler's. What depended on the coordinator's clock
(which devices were alive) is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...coordinator import schedule
from ...coordinator.bundle_store import attempt_folder, fenced_folder
from ...coordinator.chain import JournalLine
from ...coordinator.state import OpenLease, State, apply, new_state
from ...coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceQuarantined,
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
from ...outcome import Judgement, Outcome, Reason
from ...plan.plan import Plan

_FIRST_EVENTS = (SegmentOpened, RunOpened)
# The lines after a wrong one of these cannot be checked.
_FATAL = (
    LeaseGranted, UnconfinedAgent, LeaseReturned, AttemptLost, AttemptCommitted, EpisodeDecided,
)  # fmt: skip


def replay(plan: Plan, lines: Iterable[JournalLine]) -> list[str]:
    """One sentence for each contradiction; the replay stops at a line that cannot be applied."""
    expected = {each.id: each.expected_s for each in plan.episodes}
    state = new_state(plan.episodes, expected, lease_s=1.0, attempts=1)
    problems: list[str] = []
    digest = plan.digest
    for line in lines:
        event, where = line.event, f"journal, line {line.seq}"
        if isinstance(event, RunOpened) and state.opened is None:
            limits = event.settings.get("limits", {})
            try:
                state.lease_s = float(limits["lease_s"])
                state.attempts = int(limits["attempts"])
            except (KeyError, TypeError, ValueError):
                problems.append(
                    f"{where}: its limits do not state how many attempts an episode has"
                )
        if state.opened is None and not isinstance(event, _FIRST_EVENTS):
            return [*problems, f"{where}: it is before the line that opens the run"]
        texts = _check(plan, digest, state, event)
        problems += [f"{where}: {text}" for text in texts]
        if texts and isinstance(event, _FATAL):
            return problems
        apply(state, event, 0.0)
    if state.opened is None:
        problems.append("journal: no line opens the run")
    return problems


def _check(plan: Plan, digest: str, state: State, event: Event) -> list[str]:
    """What is wrong with the next line."""
    match event:
        case RunOpened() if state.opened is not None:
            return ["the run is opened a second time"]
        case RunOpened():
            opened = (event.plan, event.agent, event.profile, event.episodes)
            planned = (digest, plan.agent, plan.profile, len(plan.episodes))
            return [] if opened == planned else ["its plan is not plan.json"]
        case LeaseGranted():
            return _granted(state, event)
        case UnconfinedAgent():
            held = state.leases.get(event.token)
            if held is None or not _same_lease(held.granted, event):
                return ["its lease is not open, or is another's"]
            return ["its lease has this line already"] if held.unconfined else []
        case LeaseReturned() | AttemptLost() | AttemptCommitted():
            return _ended(state, event)
        case AttemptFenced():
            return _fenced(state, event)
        case EpisodeDecided():
            known = event.episode in state.episodes
            due = schedule.decision_due(state, event.episode) if known else None
            return [] if due == event else ["it is not the decision that follows from its attempts"]
        case DeviceQuarantined():
            due_now = schedule.quarantine_due(state, event.device)
            return [] if due_now == event else ["nothing before it causes this quarantine"]
        case EvidenceMissing():
            return _missing(state, event)
        case RunSealed() if not state.finished:
            return [f"it seals a run with {state.undecided} episodes undecided"]
        case RunSealed():
            planned_all = (event.plan, event.decided) == (digest, len(plan.episodes))
            return [] if planned_all else ["its plan is not plan.json"]
    return []


def _granted(state: State, event: LeaseGranted) -> list[str]:
    if event.episode not in state.episodes:
        return [f"it leases {event.episode}, which is not in the plan"]
    progress = state.progress[event.episode]
    device = state.devices.get(event.device)
    problems = {
        "its token was granted before": event.token in state.granted,
        "its token belongs to another attempt": not event.token.startswith(
            f"{event.episode}/{event.attempt}/"
        ),
        f"{event.episode} is already leased": progress.token is not None,
        f"{event.episode} needs no further attempt": progress.decided is not None
        or schedule.decision_due(state, event.episode) is not None,
        f"the next attempt is {len(progress.ended) + 1}": event.attempt != len(progress.ended) + 1,
        f"{event.device} already holds a lease": device is not None and device.token is not None,
        f"{event.device} is in quarantine": device is not None
        and (bool(device.quarantined) or schedule.quarantine_due(state, event.device) is not None),
    }
    return [text for text, wrong in problems.items() if wrong]


def _ended(state: State, event: LeaseReturned | AttemptLost | AttemptCommitted) -> list[str]:
    held = state.leases.get(event.token)
    if held is None:
        return [f"it ends a lease that is not open ({event.token})"]
    if not _same_lease(held.granted, event):
        return ["its episode, attempt or device is not that of its lease"]
    if isinstance(event, AttemptLost):
        return _lost(held, event.judgement)
    if isinstance(event, AttemptCommitted):
        wanted = attempt_folder(event.episode, event.attempt, state.claim)
        return [] if event.bundle == wanted else [f"its bundle must be {wanted}"]
    return []


def _lost(held: OpenLease, judgement: Judgement) -> list[str]:
    """Whether a cause was confirmed is told by a later line, if at all."""
    word = judgement.outcome, judgement.reason
    if held.unconfined and word == (Outcome.ORACLE_INCONCLUSIVE, Reason.UNCONFIRMED_LOSS):
        return []
    if judgement.outcome is Outcome.INFRA_FAILED:
        return []
    return ["an attempt without a bundle can only be infra_failed, or unconfirmed_loss"]


def _fenced(state: State, event: AttemptFenced) -> list[str]:
    granted = state.granted.get(event.token)
    if granted is None or not _same_lease(granted, event):
        return ["its lease was never granted"]
    if event.token in state.leases or event.token in state.fenced:
        return ["its lease is open, or its bundle was fenced before"]
    wanted = fenced_folder(event.episode, event.token, state.claim)
    return [] if event.bundle == wanted else [f"its bundle must be {wanted}"]


def _missing(state: State, event: EvidenceMissing) -> list[str]:
    stored = state.committed.get(event.token) or state.fenced.get(event.token)
    granted = state.granted.get(event.token)
    if stored is None or granted is None or event.token in state.missing:
        return ["it misses a bundle that was never stored, or misses it a second time"]
    wanted = (granted.episode, granted.attempt, stored.bundle)
    if (event.episode, event.attempt, event.bundle) != wanted:
        return ["its episode, attempt or bundle is not that of its lease"]
    return []


def _same_lease(
    granted: LeaseGranted,
    event: UnconfinedAgent | LeaseReturned | AttemptLost | AttemptCommitted | AttemptFenced,
) -> bool:
    return (granted.token, granted.episode, granted.attempt, granted.device) == (
        event.token, event.episode, event.attempt, event.device,
    )  # fmt: skip
