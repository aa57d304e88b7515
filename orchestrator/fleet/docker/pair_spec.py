"""The container specs of a pair, which differ between slots only in names and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...pins.image_lock import IMAGE_FILE
from ...worker.arguments import WorkerArguments
from ..container_layout import (
    CONTROL_PORT,
    CONTROL_TOKEN,
    DEVICE_DISK,
    GIVEN_FOLDER,
    STAGING,
    WORKER_TOKEN,
)
from ..emulator_command import EmulatorCommand
from ..port import FleetOrder
from ..slot import Slot
from .containers import ContainerLimits, ContainerSpec, Mount
from .engine import Engine
from .owner import DEVICE, SLOT, WORKER, Owner


@dataclass(frozen=True)
class ContainerTemplate:
    """What one of the two containers has in every slot."""

    image: str
    limits: ContainerLimits
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    kvm: bool = False


@dataclass(frozen=True)
class DockerPairSettings:
    """What all pairs of a Docker fleet have in common."""

    engine: Engine
    owner: Owner
    network: str
    volume: str  # a slot's staging is a folder of it
    worker: ContainerTemplate
    device: ContainerTemplate
    order: FleetOrder
    profile: str
    seal_s: float  # for a worker to notice that its device is gone, and to send what it has
    logs: Path  # the workers' output; kept
    agents: bool  # whether the run's agent comes in an image

    def worker_spec(self, slot: Slot, token: Path) -> ContainerSpec:
        """`token` is the file with its secret, on this machine."""
        arguments = WorkerArguments(
            coordinator=self.order.coordinator,
            token_file=Path(WORKER_TOKEN),
            device=slot.device,
            control_port=CONTROL_PORT,
            control_token_file=Path(GIVEN_FOLDER, CONTROL_TOKEN),
            staging=Path(STAGING, slot.name),
            lock=Path(GIVEN_FOLDER, IMAGE_FILE),
            profile=self.profile,
            boot_s=self.order.boot_s,
            away_s=self.order.away_s,
        )
        mounts = (Mount(STAGING, self.volume, volume=True), Mount(WORKER_TOKEN, str(token)))
        return self._spec(self.worker, slot, WORKER, arguments.words(), self.network, mounts)

    def device_spec(self, slot: Slot, worker: str) -> ContainerSpec:
        """In its worker's network namespace."""
        noise = EmulatorCommand((), self.order.noise)  # the rest of the command is in the image
        words = ["--linger", str(self.order.linger_s), "--", *noise.for_slot(slot.number)]
        namespace, disk = f"container:{worker}", Mount(DEVICE_DISK, volume=True)
        return self._spec(self.device, slot, DEVICE, words, namespace, (disk,))

    def container_name(self, slot: Slot, part: str) -> str:
        return f"{self.owner.name}-{slot.device}{part}"

    def _spec(
        self,
        template: ContainerTemplate,
        slot: Slot,
        part: str,
        command: list[str],
        network: str,
        mounts: tuple[Mount, ...],
    ) -> ContainerSpec:
        return ContainerSpec(
            name=self.container_name(slot, part),
            image=template.image,
            command=tuple(command),
            labels={**self.owner.labels, SLOT: slot.name},
            network=network,
            limits=template.limits,
            env=template.env,
            mounts=(*mounts, *template.mounts),
            tmpfs=("/tmp",),
            kvm=template.kvm,
        )
