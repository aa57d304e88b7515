"""A volume that fills up stops the leasing, and goes on once there is room."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from orchestrator.farm.cluster.volume import used_share, watch_volume


async def test_leasing_stops_at_90_percent_and_goes_on_below_88(tmp_path: Path) -> None:
    shares = iter([0.5, 0.899, 0.9, 0.95, 0.89, 0.87, 0.89])
    paused, done = asyncio.Event(), asyncio.Event()
    told: list[tuple[bool, bool]] = []
    texts: list[str] = []

    def share(folder: Path) -> float:
        assert folder == tmp_path
        try:
            return next(shares)
        except StopIteration:
            loop.call_soon_threadsafe(done.set)
            return 0.5

    def change(full: bool, text: str) -> None:
        told.append((full, paused.is_set()))
        texts.append(text)

    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(watch_volume(tmp_path, paused, change, texts.append, share, 0.0))
    await asyncio.wait_for(done.wait(), 30)
    watching.cancel()
    assert told == [(True, True), (False, False)]
    assert "90% full: nothing more is leased" in texts[0]
    assert "has room again (87% used)" in texts[1]


async def test_a_volume_that_does_not_answer_is_told_once_and_watched_on(tmp_path: Path) -> None:
    stale = OSError("stale")
    shares: Iterator[float | OSError] = iter([stale, stale, 0.5, stale, 0.95])
    paused = asyncio.Event()
    told: list[str] = []

    def share(folder: Path) -> float:
        found = next(shares, 0.95)
        if isinstance(found, OSError):
            raise found
        return found

    watching = asyncio.create_task(
        watch_volume(tmp_path, paused, lambda full, text: None, told.append, share, 0.0)
    )
    await asyncio.wait_for(paused.wait(), 30)
    watching.cancel()
    assert told == ["how full the run's volume is cannot be seen: stale"] * 2


def test_a_real_folder_has_a_share(tmp_path: Path) -> None:
    assert 0.0 <= used_share(tmp_path) <= 1.0
