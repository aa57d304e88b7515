"""The exit codes of a worker process, which its fleet reads."""

from __future__ import annotations

from enum import IntEnum


class WorkerExit(IntEnum):
    """Any other code is a crash; so is STOPPED where the fleet did not ask for it."""

    ALL_DECIDED = 0
    DEVICE_UNUSABLE = 3
    STOPPED = 143  # 128 + SIGTERM, as a shell gives it
