"""The state of a run as plain JSON, for the live table and /v1/state; the estimated time left."""

from __future__ import annotations

from typing import Any

from .schedule import live, stuck
from .state import DeviceState, State


def view(state: State, now: float) -> dict[str, Any]:
    """Plain JSON."""
    alive = set(live(state, now))
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
        "devices": {
            name: {
                "state": _device_state(device, name in alive),
                "reason": device.quarantined,
                "episode": state.leases[device.token].granted.episode if device.token else None,
                "attempts": device.attempts,
                "infra": device.infra,
                "starts": device.starts,
                "failed_starts": device.failed_starts,
            }
            for name, device in sorted(state.devices.items())
        },
        "leases": [
            {
                "episode": held.granted.episode,
                "attempt": held.granted.attempt,
                "device": held.granted.device,
                "worker": held.granted.worker,
                "age_s": now - held.since,
                "expires_s": held.expires - now,
            }
            for held in state.leases.values()
        ],
    }


def _device_state(device: DeviceState, alive: bool) -> str:
    if device.quarantined:
        return "quarantined"
    if device.token:
        return "busy"
    return "idle" if alive else "away"


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
