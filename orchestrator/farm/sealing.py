"""How does a run end? Its own documents are made final, then the last line vouches for them.

A coordinator that died in between does it again at the next resume, and after the seal nobody
does: nothing but the report, which is derived, is written into a sealed run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..coordinator import chain
from ..coordinator.coordinator import Coordinator
from ..pins.run_manifest import add_device_facts
from ..report.verify.run_folder import documents_to_seal, latest_device_facts


async def seal(run: Path, coordinator: Coordinator) -> None:
    """Once every episode is decided and the fleet has ended; a sealed run stays as it is."""
    if coordinator.state.sealed:
        return
    await asyncio.to_thread(record_devices, run)
    await coordinator.seal(await asyncio.to_thread(documents_to_seal, run))


def record_devices(run: Path) -> None:
    """Each device's own answers, which are in the journal by now."""
    events = (line.event for line in chain.JournalReader(run / chain.FOLDER))
    add_device_facts(run, latest_device_facts(events))
