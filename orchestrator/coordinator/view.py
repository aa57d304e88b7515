"""The state of a run as plain JSON, for the live table and /v1/state; the estimated time left."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Any, Literal, get_args

from .schedule import live, stuck
from .state import DeviceState, State

MOST_ROWS = 50  # devices that are listed: more do not fit on a screen, and ten thousand cost 0.1 s
Standing = Literal["busy", "idle", "quarantined", "away"]  # of a device
STANDINGS: tuple[Standing, ...] = get_args(Standing)


def view(state: State, now: float) -> dict[str, Any]:
    """Counts of all, and rows for some of the devices: those that are away come last."""
    alive = set(live(state, now))
    standings = {name: standing_of(device, name in alive) for name, device in state.devices.items()}
    counted = Counter(standings.values())
    shown = heapq.nsmallest(MOST_ROWS, ((one == "away", name) for name, one in standings.items()))
    return {
        "plan": state.opened.plan if state.opened else None,
        "total": len(state.episodes),
        "decided": len(state.episodes) - state.undecided,
        "pending": len(state.pending),
        "leased": len(state.leases),
        "outcomes": {str(outcome): count for outcome, count in state.outcomes.items()},
        "infra_attempts": state.infra_attempts,
        "fenced": len(state.fenced),
        "finished": state.finished,
        "sealed": state.sealed,
        "stuck": stuck(state),
        "eta_s": eta(state, now),
        "oldest_lease_s": oldest_lease_s(state, now),
        "device_counts": {each: counted[each] for each in STANDINGS},
        "devices": {name: _row(state, name, standings[name], now) for _, name in sorted(shown)},
    }


def _row(state: State, name: str, standing: Standing, now: float) -> dict[str, Any]:
    device = state.devices[name]
    held = state.leases[device.token] if device.token else None
    return {
        "state": standing,
        "reason": device.quarantined,
        "episode": held.granted.episode if held else None,
        "attempt": held.granted.attempt if held else None,
        "lease_age_s": now - held.since if held else None,
        "expires_s": held.expires - now if held else None,
        "attempts": device.attempts,
        "infra": device.infra,
        "starts": device.starts,
        "failed_starts": device.failed_starts,
    }


def standing_of(device: DeviceState, alive: bool) -> Standing:
    if device.quarantined:
        return "quarantined"
    if device.token:
        return "busy"
    return "idle" if alive else "away"


def oldest_lease_s(state: State, now: float) -> float:
    """0 where none is open. Leases are kept in the order in which they were granted."""
    first = next(iter(state.leases.values()), None)
    return now - first.since if first else 0.0


def eta(state: State, now: float) -> float | None:
    """Seconds left at this run's own pace; None while that is not known.

    It is known once as many attempts were measured as devices are at work. Earlier there are only
    budgets, and the first attempts to end are the shortest ones.
    """
    devices = sum(1 for _ in live(state, now))
    if state.finished:
        return 0.0
    if not devices or state.measured < devices or not state.foreseen_s:
        return None
    pace = state.measured_s / state.foreseen_s
    running = [
        max(0.0, pace * state.expected[held.granted.episode] - (now - held.since))
        for held in state.leases.values()
    ]
    work = pace * state.pending.expected_s + sum(running)
    return max(work / devices, *running, 0.0)
