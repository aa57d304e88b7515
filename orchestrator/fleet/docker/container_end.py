"""How did a container end, in words that a person and the coordinator can use? Pure."""

from __future__ import annotations

from .containers import ContainerLimits, ContainerState


def told(what: str, seen: ContainerState | None, limits: ContainerLimits) -> str:
    """One line; empty where it still runs and is well. `seen` is None where it is gone."""
    if seen is None:
        return f"the {what}'s container is gone: somebody removed it"
    parts = []
    if seen.oom_killed:
        parts.append(f"container OOM-killed: the {what} needed more than its {limits.memory_mb} MB")
    if seen.exit_code is not None:
        parts.append(f"the {what}'s container ended with exit code {seen.exit_code}")
    if seen.unhealthy:
        parts.append(f"it was unhealthy: {seen.unhealthy[:200]}")
    if seen.restarts:
        parts.append(f"it had been restarted {seen.restarts} times")
    if seen.error:
        parts.append(seen.error)
    return "; ".join(parts)


def code(seen: ContainerState | None) -> int | None:
    """As a fact has it: None where nothing ended, or nothing can be said."""
    return seen.exit_code or None if seen else None
