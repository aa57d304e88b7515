"""Readiness: the conditions that a booted phone meets, and the wait for them.

`sys.boot_completed` is set before the services answer; each condition here has been seen to fail
on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from .adb_socket import ShellResult
from .deadline import Deadline
from .faults import DeviceFault
from .foreground import parse_focus
from .shell import Shell

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_LAST_CHECK_S = 1.0  # for each condition, after the time-out
Pause = Callable[[float], None]


@dataclass(frozen=True)
class Readiness:
    """The conditions that did not hold at the last check; ready if there are none."""

    missing: tuple[str, ...]
    seconds: float

    @property
    def ready(self) -> bool:
        return not self.missing

    def require(self, since: str = "", *, during: str = "") -> None:
        """Raises a fault that lists what is missing."""
        if self.missing:
            raise DeviceFault("not_ready", since + "; ".join(self.missing), during=during)


def missing(shell: Shell, *, timeout: float = 10.0) -> tuple[str, ...]:
    """Every condition that does not hold now; a fault counts as one."""
    return tuple(_missing(shell, timeout))


def wait_ready(shell: Shell, seconds: float, *, pause: Pause = time.sleep) -> Readiness:
    """Polls until nothing is missing or the time has passed, then lists all that is missing."""
    started, deadline, step = time.monotonic(), Deadline(seconds), _FIRST_PAUSE
    while True:
        # The first is enough: while the phone boots, later conditions cannot hold.
        lacking = tuple(islice(_missing(shell, max(_LAST_CHECK_S, deadline.share(10))), 1))
        if not lacking or deadline.passed:
            lacking = lacking and (missing(shell, timeout=_LAST_CHECK_S) or lacking)
            return Readiness(lacking, time.monotonic() - started)
        pause(step)
        step = min(step * 1.2, _LONGEST_PAUSE)


def _missing(shell: Shell, timeout: float) -> Iterator[str]:
    return filter(None, (condition.missing(shell, timeout) for condition in _CONDITIONS))


@dataclass(frozen=True)
class _Condition:
    command: str
    name: str
    problem: Callable[[ShellResult], str | None]  # None if the condition holds

    def missing(self, shell: Shell, timeout: float) -> str | None:
        try:
            return self.problem(shell.adb_socket.shell(self.command, timeout=timeout))
        except DeviceFault as fault:
            return f"{self.name}: {fault}"


def _property(name: str, wanted: str) -> _Condition:
    def problem(result: ShellResult) -> str | None:
        value = result.text.strip()
        return None if value == wanted else f"{name} is {value!r}, not {wanted!r}"

    return _Condition(f"getprop {name}", name, problem)


def _service(name: str, command: str, answers: Callable[[ShellResult], bool]) -> _Condition:
    def problem(result: ShellResult) -> str | None:
        text = (result.text + result.error_text).strip() or "no answer"
        return None if answers(result) else f"{name}: {text}"

    return _Condition(command, name, problem)


def _found(result: ShellResult) -> bool:
    return (result.text + result.error_text).strip() == "Service input: found"


def _no_focus(result: ShellResult) -> str | None:
    title, hung = parse_focus(result.text)
    if hung is not None:
        return f"focus: Not Responding: {hung}"
    return "focus: no window has it" if title is None else None


_CONDITIONS = (
    _property("sys.boot_completed", "1"),
    _property("init.svc.bootanim", "stopped"),
    _service(
        "package service", "pm path android", lambda r: r.ok and r.text.startswith("package:")
    ),
    _service("input service", "service check input", _found),
    _Condition("dumpsys window", "focus", _no_focus),
)
