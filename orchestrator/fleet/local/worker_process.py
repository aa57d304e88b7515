"""One worker as a process: started, awaited, ended, and never outliving its parent.

It reads its stdin, to which nothing is ever written: an end of it means that we are gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .exits import as_shell, exited

STOP_S = 10.0  # to give its lease back
KILL_S = 5.0  # for the kernel to end it


class WorkerProcess:
    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                start_new_session=True,  # a Ctrl-C in the terminal is for the command line alone
            )
        self.pid = self._process.pid
        self.ended = asyncio.ensure_future(self._end())  # its exit code, as a shell gives it

    async def _end(self) -> int:
        await exited(self.pid)
        # Unreaped as yet, so the number is still this worker's; what it started goes with it.
        os.killpg(self.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return as_shell(self._process.wait())

    async def stop(self) -> None:
        """SIGTERM, time to give its lease back, SIGKILL."""
        try:
            await self._told(signal.SIGTERM, STOP_S)
        finally:
            await self._told(signal.SIGKILL, KILL_S)

    async def _told(self, number: signal.Signals, seconds: float) -> None:
        if not self.ended.done():
            os.kill(self.pid, number)
            await asyncio.wait({self.ended}, timeout=seconds)
