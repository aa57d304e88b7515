"""Child processes: awaited by the kernel's notice, and a worker's, started and stopped.

A child is not reaped before its starter has read its exit code; until then its pid is not reused.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_S = 10.0  # for a worker to give its lease back
KILL_S = 5.0  # for the kernel to end it


async def exited(pid: int) -> None:
    """Waits until the child has ended."""
    descriptor = os.pidfd_open(pid)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def exited_within(pid: int, seconds: float) -> bool:
    """Whether the child ended in time; blocks."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def shell_exit_code(code: int) -> int:
    """Popen's exit code as a shell gives it: signal n is 128 + n."""
    return code if code >= 0 else 128 - code


@contextmanager
def secret_pipe(secret: str) -> Iterator[int]:
    """The end of a pipe from which a child that inherits it reads the secret, once. So the secret
    is in no file, command line or environment, where other programs of the user would find it."""
    reading, writing = os.pipe()
    try:
        with open(writing, "wb") as file:
            file.write(secret.encode())
        yield reading
    finally:
        os.close(reading)


class WorkerProcess:
    """A worker that ends with its parent: it reads its stdin, which ends when the parent does.

    `inherited`: descriptors that it gets beside the three of every process.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        inherited: Sequence[int] = (),
    ) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                pass_fds=inherited,
                start_new_session=True,  # only the command line gets a terminal's Ctrl-C
            )
        self.pid = self._process.pid
        self.ended = asyncio.ensure_future(self._end())  # its exit code, as a shell gives it

    async def _end(self) -> int:
        await exited(self.pid)
        # Unreaped as yet, so the number is still this worker's; its own children end with it.
        os.killpg(self.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return shell_exit_code(self._process.wait())

    async def stop(self) -> None:
        """SIGTERM, time to give its lease back, SIGKILL."""
        try:
            await self._signal(signal.SIGTERM, STOP_S)
        finally:
            await self._signal(signal.SIGKILL, KILL_S)

    async def _signal(self, number: signal.Signals, seconds: float) -> None:
        if not self.ended.done():
            os.kill(self.pid, number)
            await asyncio.wait({self.ended}, timeout=seconds)
