"""The points that a command passes on its way from adb through the shell."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..streams import Sink

if TYPE_CHECKING:
    from ..adbd.shell_protocol import RunShell
    from ..world import World


class FailingStdout:
    """A command's output on its way to adb."""

    def __init__(self, world: World, sink: Sink) -> None:
        self._world = world
        self._sink = sink

    async def write(self, data: bytes) -> None:
        await self._sink.write(self._world.faults.at("shell.stdout", data))


def failing(run_shell: RunShell) -> RunShell:
    async def run(world: World, script: str, *, stdout: Sink, **rest: Any) -> int:
        script = world.faults.at("shell", script)
        if delay_s := world.faults.at("shell.delay", 0.0):
            await asyncio.sleep(delay_s)
        return await run_shell(world, script, stdout=FailingStdout(world, stdout), **rest)

    return run
