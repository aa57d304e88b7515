"""A phone without apps or wires: its databases, its services, and a way to run its programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.sim import providers, system
from orchestrator.sim.disk import Disk
from orchestrator.sim.noise import Noise
from orchestrator.sim.processes import ROOT, SHELL, SYSTEM
from orchestrator.sim.programs import content, settings, sqlite, telecom
from orchestrator.sim.programs.call import Call
from orchestrator.sim.providers import media
from orchestrator.sim.services import telephony
from orchestrator.sim.streams import Collected, Fixed
from orchestrator.sim.world import World

PROGRAMS = {**content.PROGRAMS, **settings.PROGRAMS, **sqlite.PROGRAMS, **telecom.PROGRAMS}
EFFECTS = {**system.EFFECTS, **media.EFFECTS, **telephony.EFFECTS}
PATIENCE_S = 10.0


@asynccontextmanager
async def phone(folder: Path, seed: int | None = None) -> AsyncIterator[World]:
    """A framework that is up, on a fresh disk with every provider's database."""
    disk = Disk(folder / "userdata", folder / "system")
    disk.own("/data/local/tmp/x").parent.mkdir(parents=True, exist_ok=True)
    world = World(disk, {}, noise=Noise(seed))
    world.effects.bind(world, EFFECTS)
    world.processes.spawn("system_server", SYSTEM)
    providers.create_all(world)
    yield world
    world.effects.cancel()
    world.databases.close()


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


async def run(
    world: World, *argv: str, stdin: str = "", root: bool = False, tty: bool = False
) -> Answer:
    out, err = Collected(), Collected()
    uid = ROOT if root else SHELL
    call = Call(world, list(argv), Fixed(stdin.encode()), out, err, uid, tty=tty)
    code = await PROGRAMS[argv[0]](call)
    return Answer(code, out.data.decode(), err.data.decode())


async def until(world: World, holds: Callable[[], bool]) -> None:
    """Wait for an effect; the condition is the only clock."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)
            world.tick()
