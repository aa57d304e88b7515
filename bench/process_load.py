"""What a process uses of this machine: cores, memory, and the threads that wait for its disk."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

SYNCS = 500


class CpuTimes(NamedTuple):
    """Seconds so far; or, between two times, their shares of the time."""

    wall: float
    user: float  # of the coordinator, nearly all under its interpreter's lock
    system: float  # of the coordinator
    own: float
    others: float  # of all other processes, and the kernel's own
    waited: float  # the coordinator's event loop for a core


def blocked_threads(pid: int) -> int:
    """The threads in uninterruptible sleep, which here is for the disk."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return sum(stat.rpartition(")")[2].split()[0] == "D" for stat in stats)


def cpu_times(pid: int) -> CpuTimes:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cores = [int(ticks) * tick for ticks in Path("/proc/stat").read_text().split()[1:9]]
    user, system, own = int(used[11]) * tick, int(used[12]) * tick, time.process_time()
    others = sum(cores) - cores[3] - cores[4] - user - system - own  # less idle, iowait
    waited = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return CpuTimes(time.monotonic(), user, system, own, others, waited)


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def sync_times(folder: Path) -> list[float]:
    """Seconds that syncs of new small files take on this disk, one after another."""
    taken = []
    for number in range(SYNCS):
        with (folder / str(number)).open("wb", buffering=0) as file:
            file.write(bytes(4096))
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return taken
