"""A seed is a phone: its accidents do not depend on who looked at it, or how often."""

from __future__ import annotations

from pathlib import Path

from simphone.noise import Noise
from tests.booted import booted


def accidents(seed: int | None, polls: int) -> list[object]:
    noise = Noise(seed)
    for _ in range(polls):  # a restless host: it asks, and things move
        noise.chance(0.5)
        noise.animation_s()
        noise.stretch(1.0)
    return [noise.row_gap(), noise.row_gap(), noise.pid_gap(), noise.clock_drift_s()]


def test_what_is_drawn_for_one_thing_does_not_depend_on_another() -> None:
    assert accidents(7, 0) == accidents(7, 50)
    assert accidents(7, 0) != accidents(8, 0)


def test_a_plain_phone_has_no_accidents() -> None:
    assert accidents(None, 3) == [0, 0, 1, 0.0]


async def facts(folder: Path, seed: str) -> list[object]:
    async with booted(folder, "-sim-noise", seed) as phone:
        world = phone.world
        found = [(process.name, process.pid) for process in world.processes.all()]
        return [world.boot_id, found, world.settings.items("global")]


async def test_two_phones_of_one_seed_boot_alike(tmp_path: Path) -> None:
    one, same, other = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    for folder in (one, same, other):
        folder.mkdir()
    seen = await facts(one, "5")
    assert await facts(same, "5") == seen
    assert await facts(other, "6") != seen
