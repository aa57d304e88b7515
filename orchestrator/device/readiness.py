"""Is the phone ready, and if not, what is still missing?

`sys.boot_completed` alone is set before the services answer; each condition here has been seen
missing on its own.
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
_LAST_LOOK = 1.0  # for each condition, when the time is up
Pause = Callable[[float], None]


@dataclass(frozen=True)
class Readiness:
    """Ready where nothing is missing; else what was missing when last asked."""

    missing: tuple[str, ...]
    seconds: float

    @property
    def ready(self) -> bool:
        return not self.missing


def missing(shell: Shell, *, timeout: float = 10.0) -> tuple[str, ...]:
    """Every condition that does not hold now; a fault is one of them."""
    return tuple(text for text in (condition(shell, timeout) for condition in _CONDITIONS) if text)


def wait_ready(shell: Shell, seconds: float, *, pause: Pause = time.sleep) -> Readiness:
    """Ask until nothing is missing or the time has passed; then once more for all that is."""
    started, deadline, step = time.monotonic(), Deadline(seconds), _FIRST_PAUSE
    while True:
        lacking = _first_missing(shell, max(_LAST_LOOK, deadline.share(10)))
        if lacking and deadline.passed:
            lacking = missing(shell, timeout=_LAST_LOOK) or lacking
            return Readiness(lacking, time.monotonic() - started)
        if not lacking:
            return Readiness((), time.monotonic() - started)
        pause(step)
        step = min(step * 1.2, _LONGEST_PAUSE)


def _first_missing(shell: Shell, timeout: float) -> tuple[str, ...]:
    """While the phone boots there is no point in asking for what comes later."""
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
