"""How a container ended: one line for a person, and its cause. Pure."""

from __future__ import annotations

from ...outcome import Cause, exit_cause
from .containers import ContainerLimits, ContainerState


def describe_end(what: str, state: ContainerState | None, limits: ContainerLimits) -> str:
    """Empty where it still runs and is well. `state` is None where the container is gone."""
    if state is None:
        return f"the {what}'s container is gone: somebody removed it"
    parts = []
    if state.oom_killed:
        parts.append(f"container OOM-killed: the {what} needed more than its {limits.memory_mb} MB")
    if state.exit_code is not None:
        parts.append(f"the {what}'s container ended with exit code {state.exit_code}")
    if state.unhealthy:
        parts.append(f"it was unhealthy: {state.unhealthy[:200]}")
    if state.restarts:
        parts.append(f"it had been restarted {state.restarts} times")
    if state.error:
        parts.append(state.error)
    return "; ".join(parts)


def end_code(state: ContainerState | None) -> int | None:
    """The exit code of a fact: None where nothing ended, or ended well."""
    return state.exit_code or None if state else None


def end_cause(state: ContainerState | None) -> Cause:
    if state is None:
        return Cause.REMOVED
    if state.oom_killed:
        return Cause.OUT_OF_MEMORY
    return exit_cause(state.exit_code)
