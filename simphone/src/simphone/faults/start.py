"""Faults of the start: the emulator's last words, and exit 1."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from .answers import changed
from .order import FaultClass, FaultOrder
from .seam import Faults

Lines = tuple[tuple[str, str], ...]

# Each line with its level; `{}` is the AVD's name.
LAST_WORDS: dict[str, Lines] = {
    "start-lock": (
        ("ERROR", "Running multiple emulators with the same AVD"),
        ("ERROR", "is an experimental feature."),
        ("ERROR", "Please use -read-only flag to enable this feature."),
    ),
    "start-snapshot-pending": (
        (
            "FATAL",
            "A snapshot operation for '{}' is pending and timeout has expired. Exiting...",
        ),
    ),
    "start-kvm-permission": (
        ("ERROR", "ProbeKVM: This user doesn't have permissions to use KVM (/dev/kvm)."),
    ),
    "start-kvm-missing": (
        (
            "ERROR",
            "/dev/kvm is not found: VT disabled in BIOS or KVM kernel module not loaded",
        ),
    ),
    "start-disk": (("FATAL", "Not enough disk space to run AVD '{}'. Exiting..."),),
    "start-userdata": (("FATAL", "Not enough space to create userdata partition."),),
    "start-avd-path": (
        ("FATAL", "PANIC: Broken AVD system path. Check your ANDROID_SDK_ROOT value [/sdk]!"),
    ),
    "start-hang": (
        ("FATAL", "detected a hanging thread 'QEMU2 main loop'. No response for 15000 ms"),
    ),
}


class StartFailure(Exception):
    """The emulator does not start; its log ends with these lines."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self.lines = lines


def _fail(lines: Lines, avd: str) -> str:
    raise StartFailure(tuple((level, text.format(avd)) for level, text in lines))


def start(orders: Iterable[FaultOrder], avd: str) -> None:
    """Passes the point `start`, before there is a phone; StartFailure where one is armed there."""
    faults = Faults()
    for order in orders:
        if order.point == "start":
            faults.arm(order, partial(_fail, LAST_WORDS[order.fault.name]))
    faults.at("start", avd)


def _said(lines: Lines) -> str:
    return " / ".join(f"`{text.format('<avd>')}`" for _, text in lines)


START = tuple(
    FaultClass(name, ("start",), f"exit 1: {_said(lines)}", changed(partial(_fail, lines)))
    for name, lines in LAST_WORDS.items()
)
