"""Phones without wires: their databases and services, with apps or without, and their programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from simphone import procfs, providers, system
from simphone.apps import APPS
from simphone.disk import Disk
from simphone.effect_table import HANDLERS
from simphone.first_boot import create_disk
from simphone.noise import Noise
from simphone.processes import ROOT, SHELL, SYSTEM
from simphone.programs import content, settings, sqlite, telecom
from simphone.programs.call import Call
from simphone.streams import Collected, Fixed
from simphone.world import World
from tests.guest import HARDWARE

PROGRAMS = {**content.PROGRAMS, **settings.PROGRAMS, **sqlite.PROGRAMS, **telecom.PROGRAMS}
PATIENCE_S = 60.0


@asynccontextmanager
async def phone(folder: Path, seed: int | None = None) -> AsyncIterator[World]:
    """A framework that is up, on a fresh disk with every provider's database."""
    disk = Disk(folder / "userdata", folder / "system")
    disk.own("/data/local/tmp/x").parent.mkdir(parents=True, exist_ok=True)
    world = World(disk, {}, noise=Noise(seed))
    world.effects.bind(world, HANDLERS)
    world.processes.spawn("system_server", SYSTEM)
    providers.create_all(world)
    yield world
    world.effects.cancel()
    world.databases.close()


@asynccontextmanager
async def with_apps(folder: Path) -> AsyncIterator[World]:
    """A phone at its home screen. Asynchronous, because effects live on the running loop."""
    world = World(Disk(folder / "userdata", folder / "system"), APPS)
    world.effects.bind(world, HANDLERS)
    procfs.install(world, HARDWARE)
    create_disk(world)
    system.start_zygote(world)
    system.start_framework(world)
    system.show_home(world)
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
