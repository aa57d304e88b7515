"""The local backend: a run's pairs are processes of this machine, and end with this process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ...events.notify import Notify
from ...worker.staging import FOLDER as STAGING
from ..emulator_command import EmulatorCommand
from ..fact import DeviceFact, OnFact, unexplained_loss
from ..fleet import SlotFleet
from ..port import CannotLeave, FleetOrder
from ..slot import Slot
from .device import Golden
from .pair import LocalPair, LocalPairSettings
from .ports import MOST_PHONES

WORKER = (sys.executable, "-m", "orchestrator.cli")


@dataclass(frozen=True)
class LocalBackend:
    golden: Golden
    lock: Path  # the image's
    emulator: tuple[str, ...]
    profile: str
    worker: tuple[str, ...] = WORKER
    seal_s: float = 60.0
    name: str = "local"

    @asynccontextmanager
    async def resources(
        self, run: Path, notify: Notify, *, adopt: bool = False
    ) -> AsyncIterator[LocalResources]:
        """Only processes, which end with their parent process: there is nothing to adopt."""
        yield LocalResources(self, run)


@dataclass(frozen=True)
class LocalResources:
    backend: LocalBackend
    run: Path
    host: str = "127.0.0.1"

    def fleet(self, order: FleetOrder, on_fact: OnFact) -> SlotFleet:
        settings = LocalPairSettings(
            order=order,
            golden=self.backend.golden,
            emulator=EmulatorCommand(self.backend.emulator, order.noise),
            lock=self.backend.lock,
            profile=self.backend.profile,
            worker=self.backend.worker,
            staging=self.run / STAGING,
            logs=self.run / "logs",
            seal_s=self.backend.seal_s,
        )
        return SlotFleet(LocalPairs(settings), order, on_fact)

    async def living(self) -> tuple[str, ...]:
        """None: they end with the process that started them."""
        return ()

    def staged(self, living: Collection[str]) -> list[Path]:
        return []

    async def describe_loss(self, device: str) -> DeviceFact:
        return unexplained_loss(device)

    async def salvage(self) -> bool:
        """Workers' staging is in the run's folder already."""
        return False


class LocalPairs:
    """Starting and ending a device block a thread each, so that no slot waits for another's."""

    agents = None  # in images: there are no containers here

    def __init__(self, settings: LocalPairSettings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(MOST_PHONES, thread_name_prefix="device")

    async def open(self) -> None:
        for folder in (self._settings.staging, self._settings.logs):
            folder.mkdir(parents=True, exist_ok=True)

    async def watch(self) -> None:
        """Nothing: each pair awaits its own processes."""

    async def run_pair(self, slot: Slot) -> bool:
        return await LocalPair(slot, self._settings, self._threads).run()

    def committed(self, device: str) -> None:
        """Nothing: all devices are on one machine."""

    def leave(self) -> None:
        raise CannotLeave("local devices and workers end with this process: end the fleet instead")

    async def close(self) -> None:
        self._threads.shutdown(wait=False)
