"""Readiness: the conditions that a booted phone meets, and the wait for them.

`sys.boot_completed` is set before the services answer; each condition here has been seen to fail
on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

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


def missing(shell: Shell, *, timeout: float = 10.0) -> tuple[str, ...]:
    """Every condition that does not hold now; a fault counts as one."""
    return tuple(text for text in (condition(shell, timeout) for condition in _CONDITIONS) if text)


def wait_ready(shell: Shell, seconds: float, *, pause: Pause = time.sleep) -> Readiness:
    """Polls until nothing is missing or the time has passed, then lists all that is missing."""
    started, deadline, step = time.monotonic(), Deadline(seconds), _FIRST_PAUSE
    while True:
        lacking = _first_missing(shell, max(_LAST_CHECK_S, deadline.share(10)))
        if lacking and deadline.passed:
            lacking = missing(shell, timeout=_LAST_CHECK_S) or lacking
            return Readiness(lacking, time.monotonic() - started)
        if not lacking:
            return Readiness((), time.monotonic() - started)
        pause(step)
        step = min(step * 1.2, _LONGEST_PAUSE)


def _first_missing(shell: Shell, timeout: float) -> tuple[str, ...]:
    """Stops at the first: while the phone boots, later conditions cannot hold."""
    for condition in _CONDITIONS:
        text = condition(shell, timeout)
        if text:
            return (text,)
    return ()


def _property(name: str, wanted: str) -> Callable[[Shell, float], str | None]:
    def ask(shell: Shell, timeout: float) -> str | None:
        try:
            value = shell.adb_socket.shell(f"getprop {name}", timeout=timeout).text.strip()
        except DeviceFault as fault:
            return f"{name}: {fault}"
        return None if value == wanted else f"{name} is {value!r}, not {wanted!r}"

    return ask


def _package_service(shell: Shell, timeout: float) -> str | None:
    try:
        result = shell.adb_socket.shell("pm path android", timeout=timeout)
    except DeviceFault as fault:
        return f"package service: {fault}"
    if result.ok and result.text.startswith("package:"):
        return None
    return f"package service: {(result.text + result.error_text).strip() or 'no answer'}"


def _input_service(shell: Shell, timeout: float) -> str | None:
    try:
        result = shell.adb_socket.shell("service check input", timeout=timeout)
    except DeviceFault as fault:
        return f"input service: {fault}"
    text = (result.text + result.error_text).strip()
    return None if text == "Service input: found" else f"input service: {text or 'no answer'}"


def _focus(shell: Shell, timeout: float) -> str | None:
    try:
        title, hung = parse_focus(shell.adb_socket.shell("dumpsys window", timeout=timeout).text)
    except DeviceFault as fault:
        return f"focus: {fault}"
    if hung is not None:
        return f"focus: Not Responding: {hung}"
    return "focus: no window has it" if title is None else None


_CONDITIONS = (
    _property("sys.boot_completed", "1"),
    _property("init.svc.bootanim", "stopped"),
    _package_service,
    _input_service,
    _focus,
)
