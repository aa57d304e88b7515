"""Starts child processes that cannot outlive the supervisor, and reaps every descendant.

Everything here runs on the main thread: the kernel sends a child's parent-death signal when the
*thread* that started it ends. Popen only starts; `Reaper` alone waits, for every descendant.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import SupervisorError

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, so that it can reap and stop them."""
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SupervisorError(f"prctl subreaper failed: {os.strerror(ctypes.get_errno())}")


def exit_code(status: int) -> int:
    """A wait status as a shell would give it: signal n is 128 + n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


OnEnd = Callable[["Child"], None]


class Child:
    """One process in a session of its own, which dies with the supervisor."""

    def __init__(self, pid: int, on_end: OnEnd) -> None:
        self.pid = pid
        self.on_end = on_end
        self.code: int | None = None
        self.ended = asyncio.Event()

    @property
    def running(self) -> bool:
        return self.code is None

    def signal_group(self, number: signal.Signals) -> bool:
        """Signal the process and all it started; False if none of them is left."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    async def stop(self, grace: float) -> None:
        """SIGTERM, at most `grace` seconds, SIGKILL until the group is gone, at most 2."""
        if self.running:
            self.signal_group(signal.SIGTERM)
            await self.wait(grace)
        deadline = time.monotonic() + 2
        # Dead processes count until they are reaped, since they hold ports and locks until then.
        while self.signal_group(signal.SIGKILL):
            await asyncio.sleep(0.005)
            if time.monotonic() > deadline:
                return

    async def wait(self, seconds: float) -> bool:
        """Whether it ended within the time."""
        try:
            await asyncio.wait_for(self.ended.wait(), seconds)
        except TimeoutError:
            return False
        return True


class Reaper:
    """Starts children and collects every process that ends, its own or adopted."""

    def __init__(self) -> None:
        self._children: dict[int, Child] = {}

    def watch(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self.reap)

    def start(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        on_end: OnEnd = lambda child: None,
    ) -> Child:
        """Run the command with its output appended to the log; returns once it is executing.

        `on_end` is called from the loop, never before this returns.
        """
        supervisor = os.getpid()

        def die_with_supervisor() -> None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != supervisor:  # it ended before the line above
                os._exit(1)

        try:
            with log.open("ab") as output:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(env),
                    cwd=env["HOME"],
                    start_new_session=True,
                    preexec_fn=die_with_supervisor,  # noqa: PLW1509 - see the first lines
                )
        except OSError as error:
            raise SupervisorError(f"cannot start the {name} {command[0]!r}: {error}") from error
        child = Child(process.pid, on_end)
        self._children[process.pid] = child
        process.returncode = 0  # the Reaper waits for it; Popen must not
        return child

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            if child is not None:
                child.code = exit_code(status)
                child.ended.set()
                child.on_end(child)

    async def end_everything(self, seconds: float) -> None:
        """SIGKILL to every descendant until none is left, for at most this long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (pids := _descendants()) and loop.time() < deadline:
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            await asyncio.sleep(0.01)
            self.reap()


def _descendants() -> list[int]:
    """The direct children. They are enough: as they die, their children become ours."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[1]) == os.getpid():
                found.append(int(folder.name))
    return found
