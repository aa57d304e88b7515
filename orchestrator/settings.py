"""The settings and limits of a run, as frozen values; its manifest records them."""

from __future__ import annotations

from dataclasses import dataclass

RAW_LIMIT = 1 << 20  # bytes that are kept of one query's raw result; the digest covers all


@dataclass(frozen=True)
class Limits:
    """The farm's own time-outs and bounds; the agent's are in its case's budget."""

    lease_s: float = 60.0  # a worker renews after a third of it
    attempts: int = 3  # per episode, the first included; only infrastructure earns another
    boot_s: float = 120.0
    reset_s: float = 120.0
    setup_s: float = 60.0  # for each step's postcondition
    device_s: float = 900.0  # the phone's share of the agent's steps: observe, act, watch
    oracle_s: float = 60.0  # for the oracles after the agent, beyond their settle time
    agent_start_s: float = 30.0
    away_s: float = 180.0  # a worker waits so long for a coordinator that does not answer
    starts: int = 5  # of a slot, in a row without a commit, before it is given up


@dataclass(frozen=True)
class RunSettings:
    """The settings of `emufarm run`."""

    seed: int = 0
    repeats: int = 1
    agent: str = "reference"
    profile: str = "sim-api34"
    variants: tuple[str, ...] = ("benign", "attack")
    limits: Limits = Limits()
    noise: int | None = None  # seed of the simulated phones' noise; no part of the plan
    agent_ports: tuple[int, ...] = ()  # of the host's loopback that a confined agent reaches
