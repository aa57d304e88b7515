"""What one run is asked to do, as frozen values; the manifest records them."""

from __future__ import annotations

from dataclasses import dataclass

RAW_LIMIT = 1 << 20  # bytes kept of one query's raw result; its digest is over the whole


@dataclass(frozen=True)
class Limits:
    """Bounds of the farm's own patience; the agent's are its case's budget."""

    lease_s: float = 60.0  # renewed at a third of it
    attempts: int = 3  # per episode, the first included; only infrastructure earns another
    boot_s: float = 120.0
    reset_s: float = 120.0
    setup_s: float = 60.0  # each step's postcondition
    device_s: float = 900.0  # the phone's share of the agent's steps: to look, to act, to watch
    oracle_s: float = 60.0  # the questions after the agent, beyond their settle time
    agent_start_s: float = 30.0
    starts: int = 5  # of one slot's device before the slot is given up


@dataclass(frozen=True)
class RunSettings:
    """What `emufarm run` was told."""

    seed: int = 0
    repeats: int = 1
    agent: str = "reference"
    profile: str = "sim-api34"
    variants: tuple[str, ...] = ("benign", "attack")
    limits: Limits = Limits()
    noise: int | None = None  # makes simulated phones restless; no part of what is asked
