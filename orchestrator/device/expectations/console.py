"""Expectations about the emulator's console; checked only if its token is known."""

from __future__ import annotations

from ..faults import DeviceFault
from ..phone import Device
from .expectation import CheckResult, Expectation, collector, equal

CONSOLE: list[Expectation] = []
expect = collector(CONSOLE, needs_console=True)


def _refusal(device: Device, command: str, *, authenticated: bool = True) -> str:
    try:
        reply = device.console.ask(command, authenticated=authenticated)
    except DeviceFault as fault:
        return fault.text
    return f"OK after {reply!r}"


@expect("console.ping", "it answers before authentication", "'I am alive!'")
def _ping(device: Device) -> CheckResult:
    return equal(device.console.ask("ping", authenticated=False), "I am alive!")


@expect("console.locked", "without the token no one can load a snapshot", "KO")
def _locked(device: Device) -> CheckResult:
    seen = _refusal(device, "avd status", authenticated=False)
    return CheckResult(seen.startswith("KO:"), seen)


@expect("console.name", "the AVD's name is recorded", "one line")
def _name(device: Device) -> CheckResult:
    name = device.console.avd_name()
    return CheckResult(bool(name) and "\n" not in name, repr(name))


@expect("console.status", "a stopped phone answers, too", "virtual device is running")
def _status(device: Device) -> CheckResult:
    return equal(device.console.avd_status(), "virtual device is running")


@expect("console.snapshots", "a reset needs its snapshot", "a list, or none")
def _snapshots(device: Device) -> CheckResult:
    rows = device.console.snapshots()
    return CheckResult(True, ", ".join(f"{row.tag} ({row.size})" for row in rows) or "none")


@expect("console.loaded", "it is part of the proof of a load", "a tag, or None")
def _loaded(device: Device) -> CheckResult:
    return CheckResult(True, repr(device.console.loaded_snapshot()))


@expect("console.refusals", "`adb emu` exits with 0 on them", "these KO messages")
def _refusals(device: Device) -> CheckResult:
    commands = {
        "emufarm-none": "KO: unknown command, try 'help'",
        "avd": "KO: missing sub-command",
        "avd emufarm-none": "KO:  bad sub-command",
    }
    return equal({command: _refusal(device, command) for command in commands}, commands)
