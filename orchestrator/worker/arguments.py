"""What a worker process is started with: one record, and its spelling as a command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path


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
    boot_s: float  # the run's limit for the device's boot; a lease brings the other limits
    tied: bool = False  # the worker ends when its stdin does, and so with its parent

    def words(self) -> list[str]:
        """What follows `emufarm` on the command line."""
        values = asdict(self)
        tied = ["--tied"] if values.pop("tied") else []
        options = ((f"--{name.replace('_', '-')}", str(value)) for name, value in values.items())
        return ["worker", *(word for option in options for word in option), *tied]
