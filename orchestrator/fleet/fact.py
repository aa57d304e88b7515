"""What a backend saw of a device or its worker; the coordinator journals it and judges by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "device_not_started",  # nothing came up
    "device_lost",  # it ended, or its worker found it unusable
    "worker_lost",  # it crashed or was killed; its lease is held by nobody
    "slot_given_up",  # no further device is started in its place
]


@dataclass(frozen=True)
class Fact:
    """`exit_code` is as a shell gives it, 128 + n for signal n; None where nothing ended."""

    device: str
    kind: Kind
    exit_code: int | None
    text: str
