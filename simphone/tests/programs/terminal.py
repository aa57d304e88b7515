"""One program at a time on a phone, as its shell would start it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from simphone.processes import SHELL
from simphone.programs.call import Call
from simphone.programs.table import PROGRAMS
from simphone.streams import Collected, Fixed
from simphone.world import World


@dataclass(frozen=True)
class Ran:
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()


class Terminal:
    def __init__(self, world: World) -> None:
        self.world = world

    async def run(self, line: str, *, stdin: bytes = b"", uid: int = SHELL) -> Ran:
        out, err = Collected(), Collected()
        argv = shlex.split(line)
        code = await PROGRAMS[argv[0]](Call(self.world, argv, Fixed(stdin), out, err, uid))
        return Ran(code, bytes(out.data), err.data.decode())

    async def out(self, line: str) -> str:
        """What a command that succeeds prints, which is nothing on stderr."""
        ran = await self.run(line)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.out
