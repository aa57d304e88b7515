"""What a backend reports of a device or its worker; the coordinator journals and judges by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..outcome import Cause

FactKind = Literal[
    "device_not_started",  # nothing came up
    "device_lost",  # it ended, or its worker found it unusable
    "worker_lost",  # it crashed or was killed; nobody holds its lease
    "slot_given_up",  # no further device is started in its place
]


@dataclass(frozen=True)
class DeviceFact:
    """`exit_code` is as a shell gives it, 128 + n for signal n; None where nothing ended."""

    device: str
    kind: FactKind
    cause: Cause
    exit_code: int | None
    text: str


def unexplained_loss(device: str) -> DeviceFact:
    """Of one that ended while nobody watched."""
    text = "it was gone when the coordinator came back"
    return DeviceFact(device, "device_lost", Cause.UNKNOWN, None, text)


OnFact = Callable[[DeviceFact], None]
