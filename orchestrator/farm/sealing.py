"""Seals a run: makes its own documents final, then writes the journal's last line over them.

A coordinator that died in between does it again at the next resume. After the seal nothing but the
report, which is derived, is written into the run's folder.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..coordinator import chain
from ..coordinator.coordinator import Coordinator
from ..pins.run_manifest import add_device_facts
from ..report.verify.run_folder import documents_to_seal, latest_device_facts


async def seal(run: Path, coordinator: Coordinator) -> None:
    """The caller has ended the fleet, and every episode is decided. A sealed run stays as it is."""
    if coordinator.state.sealed:
        return
    await asyncio.to_thread(record_devices, run)
    await coordinator.seal(await asyncio.to_thread(documents_to_seal, run))


def record_devices(run: Path) -> None:
    """Adds each device's own facts, which are in the journal by now."""
    events = (line.event for line in chain.JournalReader(run / chain.FOLDER))
    add_device_facts(run, latest_device_facts(events))
