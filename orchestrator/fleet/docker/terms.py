"""How is each container of a pair made? Alike in every slot, but for names and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..slot import Bounds, Slot
from .agents import AgentImage
from .containers import ContainerLimits, ContainerSpec, Mount
from .engine import Engine
from .owner import DEVICE, SLOT, WORKER, Owner
from .salvage import PLACE as STAGING
from .watch import AWAY_S

DEVICE_PLACE = "/var/emu"  # the device's own disk: its copy of the AVD


@dataclass(frozen=True)
class Part:
    """One of the two containers, as every slot has it."""

    image: str
    limits: ContainerLimits
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    kvm: bool = False


@dataclass(frozen=True)
class DockerTerms:
    """How every pair of a fleet is made."""

    engine: Engine
    owner: Owner
    network: str
    volume: str  # a slot's staging is a folder of it
    worker: Part
    device: Part
    worker_command: Callable[[str, str], Sequence[str]]  # of a device's name and its staging folder
    device_command: Callable[[int], Sequence[str]]  # of a slot's number
    logs: Path  # what workers printed; kept
    bounds: Bounds
    agent: AgentImage | None = None  # where it comes in one
    seal_s: float = 60.0  # for a worker to notice that its device is gone, and to send what it has
    away_s: float = AWAY_S  # for an engine that does not answer


def worker_spec(terms: DockerTerms, slot: Slot) -> ContainerSpec:
    part = terms.worker
    return ContainerSpec(
        name=_name(terms, slot, WORKER),
        image=part.image,
        command=tuple(terms.worker_command(slot.device, f"{STAGING}/{slot.name}")),
        labels=_labels(terms, slot),
        network=terms.network,
        limits=part.limits,
        env=part.env,
        mounts=(Mount(STAGING, terms.volume, volume=True), *part.mounts),
        tmpfs=("/tmp",),
    )


def device_spec(terms: DockerTerms, slot: Slot, worker: str) -> ContainerSpec:
    """In its worker's network namespace."""
    part = terms.device
    return ContainerSpec(
        name=_name(terms, slot, DEVICE),
        image=part.image,
        command=tuple(terms.device_command(slot.number)),
        labels=_labels(terms, slot),
        network=f"container:{worker}",
        limits=part.limits,
        env=part.env,
        mounts=(Mount(DEVICE_PLACE, volume=True), *part.mounts),
        tmpfs=("/tmp",),
        kvm=part.kvm,
    )


def _labels(terms: DockerTerms, slot: Slot) -> dict[str, str]:
    return {**terms.owner.labels, SLOT: slot.name}


def _name(terms: DockerTerms, slot: Slot, part: str) -> str:
    return f"{terms.owner.name}-{slot.device}{part}"
