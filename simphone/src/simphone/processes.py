"""The guest's process table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from .clock import Clock
from .noise import Noise
from .state import Json

ROOT, SYSTEM, RADIO, SHELL = 0, 1000, 1001, 2000


@dataclass
class Process:
    pid: int
    ppid: int
    uid: int
    name: str
    started_s: float  # uptime


class Processes:
    def __init__(self, clock: Clock, noise: Noise) -> None:
        self._clock = clock
        self._noise = noise
        self._table: dict[int, Process] = {}
        self._last = 0
        # What a signal does to a program that a shell runs. Those programs end with their
        # connection, which a snapshot does not carry, so neither are they in it.
        self._running: dict[int, Callable[[int], None]] = {}

    def spawn(self, name: str, uid: int, ppid: int = 1, pid: int | None = None) -> Process:
        self._last = pid if pid is not None else self._last + self._noise.pid_gap()
        process = Process(self._last, ppid, uid, name, self._clock.uptime())
        self._table[process.pid] = process
        return process

    def run(self, name: str, uid: int, ppid: int, signalled: Callable[[int], None]) -> Process:
        """A program started by a shell; `signalled` is told the signal that ends it."""
        process = self.spawn(name, uid, ppid)
        self._running[process.pid] = signalled
        return process

    def running(self) -> int:
        return len(self._running)

    def is_running(self, pid: int) -> bool:
        """Whether this is a shell's program."""
        return pid in self._running

    def signal(self, pid: int, number: int) -> bool:
        """False where the process is not a shell's program and others must decide."""
        signalled = self._running.get(pid)
        if signalled is not None:
            signalled(number)
        return signalled is not None

    def leave(self, process: Process) -> None:
        """A shell's program is over; its pid may be another's by now."""
        if self._table.get(process.pid) is process:
            self._running.pop(process.pid, None)
            self.end(process.pid)

    def ensure(self, name: str, uid: int, ppid: int = 1) -> Process:
        return self.find(name) or self.spawn(name, uid, ppid)

    def find(self, name: str) -> Process | None:
        return next((p for p in self._table.values() if p.name == name), None)

    def get(self, pid: int) -> Process | None:
        return self._table.get(pid)

    def end(self, pid: int) -> None:
        self._table.pop(pid, None)

    def clear(self) -> None:
        self._table = {}
        self._running = {}
        self._last = 0

    def all(self) -> list[Process]:
        return sorted(self._table.values(), key=lambda p: p.pid)

    def save(self) -> Json:
        kept = [asdict(p) for p in self.all() if p.pid not in self._running]
        return {"last": self._last, "table": kept}

    def load(self, state: Json) -> None:
        self._last = int(state["last"])
        self._table = {p["pid"]: Process(**p) for p in state["table"]}
        self._running = {}
