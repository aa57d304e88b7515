"""Tells a hung child of the supervisor from a busy one, by what the host's kernel says of it.

An attempt on a hung emulator is tried again, so no agent may be able to make one look hung through
the guest. Only two things count, and neither comes from the guest:

- The process is stopped (state T), at STOPPED_LOOKS looks in a row. Only a process of the host can
  stop it; the guest's code runs inside it and has no other process to signal.
- The process stands still, at SILENT_LOOKS looks in a row: its console does not answer, its log
  does not grow, each of its threads sleeps, and it used next to no processor time. A guest that
  runs takes processor time; one that idles leaves the threads that serve the console alone; one
  that keeps those busy takes their time. A thread that waits for a processor or a disk shows a slow
  host, not a hang. What is left is an emulator that is blocked in itself: its own defect, as a
  crash is.

A guest that is only silent, or busy without end, is never called hung.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .adb import is_silent
from .children import Child

LOOK_S = 1.0  # between two looks
STOPPED_LOOKS = 5
SILENT_LOOKS = 30
STILL_CPU_S = 0.5  # of processor time that a process may use in all of them and still stand still
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessLook:
    """What the host saw of a process at one moment."""

    stopped: bool  # by a signal, or a debugger
    asleep: bool  # all its threads: none runs, or waits for a processor or a disk
    cpu_s: float  # since its start
    log_end: int
    silent: bool  # it was asked something, and neither answered nor hung up

    @property
    def doubtful(self) -> bool:
        return self.stopped or (self.silent and self.asleep)


def hung(looks: Sequence[ProcessLook]) -> str:
    """How these looks show that a process hangs; empty if they do not."""
    last = looks[-STOPPED_LOOKS:]
    if len(last) == STOPPED_LOOKS and all(look.stopped for look in last):
        return f"the process is stopped (state T), at {STOPPED_LOOKS} looks in a row"
    still = looks[-SILENT_LOOKS:]
    if len(still) < SILENT_LOOKS or not all(look.silent and look.asleep for look in still):
        return ""
    used = still[-1].cpu_s - still[0].cpu_s
    if used > STILL_CPU_S or still[-1].log_end != still[0].log_end:
        return ""
    return (
        f"the process stands still, at {SILENT_LOOKS} looks in a row, with {used:.2f} s of CPU time"
    )


def stopped_or_dead(pid: int) -> bool:
    """Whether the process is stopped now, or dead and not yet reaped; False if there is none."""
    try:
        return _fields(Path(f"/proc/{pid}/stat"))[0] in "TtZX"
    except OSError:
        return False


def look_at(pid: int, log: Path, *, silent: bool) -> ProcessLook | None:
    """None if the process has ended."""
    try:
        own = _fields(Path(f"/proc/{pid}/stat"))
        threads = [_fields(each / "stat")[0] for each in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return None
    try:
        log_end = log.stat().st_size
    except OSError:
        log_end = 0
    return ProcessLook(
        stopped=own[0] in "Tt",
        asleep=all(state in "SI" for state in threads),
        cpu_s=(int(own[11]) + int(own[12])) / _TICKS,
        log_end=log_end,
        silent=silent,
    )


class WatchedChild:
    """The last looks at one child, which listens on a port of loopback."""

    def __init__(self, log: Path, port: int, request: bytes = b"") -> None:
        self._log = log
        self._port = port
        self._request = request
        self._child: Child | None = None
        self._looks: deque[ProcessLook] = deque(maxlen=SILENT_LOOKS)

    def begin(self, child: Child) -> None:
        self._child = child
        self._looks.clear()

    async def look(self) -> None:
        """Nothing is asked of a process that is stopped, or busy."""
        child = self._child
        if child is None or not child.running:
            return
        look = look_at(child.pid, self._log, silent=False)
        if look is not None and look.asleep and await is_silent(self._port, self._request):
            look = look_at(child.pid, self._log, silent=True)
        if look is not None and child is self._child and child.running:
            self._looks.append(look)

    @property
    def hung(self) -> str:
        """How it hangs, or hung when it ended; empty if it does not."""
        return hung(tuple(self._looks))

    @property
    def stopped(self) -> bool:
        """Whether it was at the last look."""
        return bool(self._looks) and self._looks[-1].stopped

    @property
    def doubtful(self) -> bool:
        """Whether a moment later it may be known that it hangs, or has ended."""
        if self._child is None or not self._child.running:
            return False
        seen = bool(self._looks) and self._looks[-1].doubtful
        return seen or stopped_or_dead(self._child.pid)


def _fields(stat: Path) -> list[str]:
    """The fields after the name: the state is the first."""
    return stat.read_text().rpartition(")")[2].split()
