"""Starts processes that outlive the command that starts them, and ends them by their ids.

Each is on record in the cluster's folder with the time of its start, so that another process which
got its number is never taken for it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster.layout import Layout, NoCluster

STOP_S, KILL_S, FORK_S, PAUSE_S = 20.0, 20.0, 10.0, 0.05

# Those that this very process started: it alone can reap them.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Running:
    """A process, and the one it was entered through where it lives in namespaces of its own."""

    pid: int
    since: int
    wrapper: int | None = None

    @property
    def alive(self) -> bool:
        return _since(self.pid) == self.since


class Processes:
    """All that run for one cluster, by name."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._folder = layout.folder / "processes"

    def start(
        self, name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None,
        *, entered: bool = False,
    ) -> Running:  # fmt: skip
        """`entered`: the command forks, and its child is the one that counts."""
        if (running := self.get(name)) is not None:
            return running
        log = self._layout.log(name)
        log.parent.mkdir(exist_ok=True)
        self._folder.mkdir(exist_ok=True)
        with log.open("ab") as file:
            process = subprocess.Popen(
                [str(word) for word in command], env=env, cwd="/", start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            )  # fmt: skip
        _children[process.pid] = process
        pid, wrapper = (
            (_child_of(process.pid, name), process.pid) if entered else (process.pid, None)
        )
        since = _since(pid)
        if since is None:
            raise NoCluster(f"{name} ended at once: {self.said(name)}")
        record = {"pid": pid, "since": since, "wrapper": wrapper}
        new = self._folder / f".{name}"
        new.write_text(json.dumps(record))
        new.rename(self._folder / f"{name}.json")
        return Running(pid, since, wrapper)

    def get(self, name: str) -> Running | None:
        """It, if it runs."""
        try:
            record = json.loads((self._folder / f"{name}.json").read_text())
        except FileNotFoundError:
            return None
        running = Running(**record)
        return running if running.alive else None

    def names(self) -> list[str]:
        return sorted(one.stem for one in self._folder.glob("*.json"))

    def end(self, name: str, *, how: signal.Signals = signal.SIGTERM) -> None:
        """Told to end, then killed; returns when it is gone."""
        running = self.get(name)
        if running is not None and running.pid != os.getpid():
            end(running, how)
        (self._folder / f"{name}.json").unlink(missing_ok=True)

    def said(self, name: str) -> str:
        """The end of its log."""
        try:
            return self._layout.log(name).read_text(errors="replace")[-1500:]
        except FileNotFoundError:
            return ""

    def wait(self, what: str, holds: Callable[[], bool], seconds: float, *needed: str) -> None:
        """Until it holds; those needed for it must live meanwhile."""

        def look() -> bool:
            if holds():
                return True
            for name in needed:
                if self.get(name) is None:
                    raise NoCluster(f"{name} ended while waiting for {what}: {self.said(name)}")
            return False

        try:
            wait_for(what, look, seconds)
        except TimeoutError as error:
            said = "\n".join(f"{name}: {self.said(name)}" for name in needed)
            raise NoCluster(f"{error}\n{said}") from error


def running(pid: int) -> Running:
    """A process of anybody's, which may have ended."""
    return Running(pid, _since(pid) or 0)


def wait_for(what: str, holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(PAUSE_S)


def end(running: Running, how: signal.Signals = signal.SIGTERM) -> None:
    """In order; killed where that takes too long."""
    for sign, seconds in ((how, STOP_S), (signal.SIGKILL, KILL_S)):
        try:
            handle = os.pidfd_open(running.pid)
        except ProcessLookupError:
            break
        try:
            # Looked at after it is held, so that the number cannot pass to another in between.
            if not running.alive:
                break
            signal.pidfd_send_signal(handle, sign)
            watch = select.poll()
            watch.register(handle, select.POLLIN)
            if watch.poll(seconds * 1000):
                break
        except ProcessLookupError:
            break
        finally:
            os.close(handle)
    for pid in (running.pid, running.wrapper):
        if pid is not None and (child := _children.pop(pid, None)) is not None:
            child.wait(KILL_S)


def _child_of(parent: int, name: str) -> int:
    deadline = time.monotonic() + FORK_S
    while time.monotonic() < deadline:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            fields = _stat(entry)
            if fields and int(fields[1]) == parent:
                return int(entry.parent.name)
        if _since(parent) is None:
            break
        time.sleep(0.01)
    raise NoCluster(f"{name} did not start")


def _since(pid: int) -> int | None:
    """When it was started; None where it has ended, reaped or not."""
    fields = _stat(Path(f"/proc/{pid}/stat"))
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def _stat(path: Path) -> list[str]:
    """From the state on: the program's name before it may hold spaces."""
    try:
        return path.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
