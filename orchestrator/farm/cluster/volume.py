"""Watches how full a run's volume is: from 90 % on nothing is leased until there is room again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from ...events.notify import Notify

FULL, ROOM = 0.90, 0.88  # shares that are used; between the two nothing changes
LOOK_S = 10.0


def used_share(folder: Path) -> float:
    """As `df` computes it: space that only root may use is neither free nor used."""
    found = os.statvfs(folder)
    used = found.f_blocks - found.f_bfree
    return used / max(1, used + found.f_bavail)


async def watch_volume(
    folder: Path,
    paused: asyncio.Event,
    on_change: Callable[[bool, str], None],
    notify: Notify,
    share: Callable[[Path], float] = used_share,
    look_s: float = LOOK_S,
) -> None:
    """For ever. `on_change` gets whether leasing stops, and the sentence for it. A volume that does
    not answer is told once, and looked at again: a network's volume may come back."""
    told = ""
    while True:
        try:
            used = await asyncio.to_thread(share, folder)
            told = ""
        except OSError as error:
            if told != str(error):
                told = str(error)
                notify(f"how full the run's volume is cannot be seen: {error}")
            await asyncio.sleep(look_s)
            continue
        if used >= FULL and not paused.is_set():
            paused.set()
            on_change(
                True,
                f"the run's volume is {used:.0%} full: nothing more is leased until there is room; "
                "make its claim larger, or cancel the run",
            )
        elif used < ROOM and paused.is_set():
            paused.clear()
            on_change(False, f"the run's volume has room again ({used:.0%} used): leasing goes on")
        await asyncio.sleep(look_s)
