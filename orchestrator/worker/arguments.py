"""The arguments of a worker process, as a record and a command line, and its exit codes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path


class WorkerExit(IntEnum):
    """Any other code is a crash; so is STOPPED where the fleet did not ask for it."""

    ALL_DECIDED = 0
    DEVICE_UNUSABLE = 3
    STOPPED = 143  # 128 + SIGTERM, as a shell gives it


@dataclass(frozen=True)
class WorkerArguments:
    """Paths are as the worker sees them: on this machine, or in its container."""

    coordinator: str  # its base URL
    token_file: Path  # holds the workers' secret
    device: str  # <slot>.<n>: the n-th device in its slot
    control_port: int  # the supervisor's
    control_token_file: Path  # holds the supervisor's secret
    staging: Path  # the slot's own, kept from worker to worker
    lock: Path  # the image's
    profile: str  # the image's
    boot_s: float  # the run's limits until a lease brings them all: for the device's boot,
    away_s: float  # and for a coordinator that does not answer
    tied: bool = False  # the worker ends when its stdin does, and so with its parent
    exit_file: Path | None = None  # gets the exit code of a worker that leaves; its own is 0 then

    def words(self) -> list[str]:
        """What follows `emufarm` on the command line."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        tied = ["--tied"] if values.pop("tied") else []
        options = ((f"--{name.replace('_', '-')}", str(value)) for name, value in values.items())
        return ["worker", *(word for option in options for word in option), *tied]
