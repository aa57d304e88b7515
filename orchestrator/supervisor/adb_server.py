"""Keeps the private adb server: starts it, and replaces one that has ended or hangs."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from . import SupervisorError
from .adb import SERVER_ENV, VERSION_REQUEST, announce, server_answers
from .children import Child, Reaper
from .pulse import WatchedChild

ANSWER_S = 30.0  # for a new one to answer
RESTARTS = 10  # then the machine, not the server, is at fault
HOST_KILLED = (137, 143)  # by a signal that only a process of the host can send


class AdbServer:
    def __init__(
        self,
        adb: str,
        port: int,
        emulator: int,  # the emulator's adb port
        log: Path,
        reaper: Reaper,
        *,
        wanted: Callable[[], bool],  # whether another one is started where it ends
        given_up: Callable[[SupervisorError], None],
    ) -> None:
        self.restarts = 0
        self.lost = ""  # how the last one ended, if the host ended or stopped it
        self.child: Child | None = None
        self._adb = adb
        self._port = port
        self._emulator = emulator
        self._log = log
        self._reaper = reaper
        self._wanted = wanted
        self._given_up = given_up
        self._env: Mapping[str, str] = {}
        self._watch = WatchedChild(log, port, VERSION_REQUEST)
        self._revival: asyncio.Task[None] | None = None

    async def start(self, env: Mapping[str, str]) -> None:
        self._env = env
        command = [self._adb, "-P", str(self._port), "nodaemon", "server"]
        server = self._reaper.start(
            "adb server", command, {**env, **SERVER_ENV}, self._log, self._ended
        )
        self.child = server
        self._watch.begin(server)
        deadline = time.monotonic() + ANSWER_S
        while not await server_answers(self._port):
            if await server.wait(0.01) or time.monotonic() > deadline:
                raise SupervisorError(
                    f"no adb server answers on port {self._port}; see {self._log}"
                )

    async def look(self) -> None:
        """Once a LOOK_S. One that hangs is ended, and so replaced."""
        await self._watch.look()
        if self.child is not None and self.child.running and (how := self._watch.hung):
            _say(f"the adb server hangs: {how}")
            self.child.signal_group(signal.SIGKILL)

    @property
    def doubtful(self) -> bool:
        return self._watch.doubtful

    def cancel(self) -> None:
        """Start no other one any more."""
        if self._revival is not None:
            self._revival.cancel()

    def _ended(self, child: Child) -> None:
        how, self.lost = self._watch.hung, ""
        if how and self._watch.stopped:
            self.lost = f"the adb server hung: {how}"
        elif not how and child.code in HOST_KILLED:
            self.lost = f"the adb server ended with exit code {child.code}"
        if self._wanted():
            self.restarts += 1  # with `lost`: whoever asks is told of both
            _say(f"the adb server ended with exit code {child.code}; starting another")
            self._revival = asyncio.get_running_loop().create_task(self._revive())

    async def _revive(self) -> None:
        """The emulator registers itself only once, at its start, so it is registered with the new
        server here."""
        try:
            if self.restarts > RESTARTS:
                raise SupervisorError(f"the adb server ended {self.restarts} times")
            await self.start(self._env)
            await announce(self._port, self._emulator)
        except (SupervisorError, OSError, TimeoutError) as error:
            self._given_up(SupervisorError(f"the adb server cannot be revived: {error}"))


def _say(sentence: str) -> None:
    print(f"supervisor: {sentence}", file=sys.stderr, flush=True)
