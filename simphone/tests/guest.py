"""A world with nothing but a disk, and its shell."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from simphone import procfs, system
from simphone.disk import Disk
from simphone.processes import ROOT, SHELL
from simphone.programs import table
from simphone.shell.interpreter import run_script
from simphone.streams import Collected, Fixed
from simphone.world import World

HARDWARE = {"hw.cpu.ncore": "4", "hw.ramSize": "2048M"}
HOME = "/data/local/tmp"
# A script that takes longer hangs.
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class Guest:
    def __init__(self, folder: Path) -> None:
        (folder / "system").mkdir(parents=True)
        (folder / "userdata").mkdir()
        self.folder = folder
        self.world = World(Disk(folder / "userdata", folder / "system"), {})
        self.world.effects.bind(self.world, dict(system.EFFECTS))
        table.install(self.world.disk)
        procfs.install(self.world, HARDWARE)
        self.home = self.world.disk.own(f"{HOME}/x").parent

    async def sh(self, script: str, *, stdin: bytes = b"", root: bool = False) -> Answer:
        """A script run in /data/local/tmp."""
        code, out, err = await self.raw(f"cd {HOME}\n{script}", stdin=stdin, root=root)
        return Answer(code, _text(out), _text(err))

    async def raw(
        self,
        script: str,
        *,
        stdin: bytes = b"",
        root: bool = False,
        interactive: bool = False,
        tty: bool = False,
    ) -> tuple[int, bytes, bytes]:
        out, err = Collected(), Collected()
        running = run_script(
            self.world,
            script,
            stdin=Fixed(stdin),
            stdout=out,
            stderr=err,
            uid=ROOT if root else SHELL,
            interactive=interactive,
            tty=tty,
        )
        code = await asyncio.wait_for(running, PATIENCE_S)
        return code, bytes(out.data), bytes(err.data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
