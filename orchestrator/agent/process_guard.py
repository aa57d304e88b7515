"""Runs an agent's command as a child and kills everything that it started. A separate program.

    python process_guard.py PARENT_PID COMMAND ...

All processes of the command, also those in their own sessions, are killed when it ends, on SIGTERM,
and when the parent dies, even by SIGKILL. The exit code is the command's; signal n is 128 + n. It
uses the standard library only, because it is started by its path and must start quickly.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_WAITED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
_CLEANUP_S = 5.0
NOT_STARTED = 127


def main(parent: int, command: list[str]) -> int:
    prctl = ctypes.CDLL(None).prctl
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become our children: they can be found
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the line above
        return NOT_STARTED
    guard, child = os.getpid(), os.fork()
    if child == 0:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _exec(command, guard)
    for stream in (0, 1):  # the output must close when the command ends
        os.close(stream)
    code = _watch(child)
    _end_descendants()
    return code


def _exec(command: list[str], guard: int) -> None:
    if os.getppid() != guard:
        os._exit(NOT_STARTED)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(NOT_STARTED)


def _watch(child: int) -> int:
    """Waits until the command ends or a signal asks for its end; returns the exit code."""
    while signal.sigwait(_WAITED) == signal.SIGCHLD:
        for pid, status in _reap():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    return 128 + signal.SIGTERM


def _reap() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append((pid, status))


def _end_descendants() -> None:
    """Kills direct children repeatedly: when they die, their children become ours."""
    deadline = time.monotonic() + _CLEANUP_S
    while (pids := _children()) and time.monotonic() < deadline:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)
        _reap()


def _children() -> list[int]:
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
