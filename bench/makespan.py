"""Compares the makespan of a run with the lower bound of every schedule.

    .venv/bin/python bench/makespan.py [--episodes 240] [--workers 8] [--mean 2.6] [--seed 0]

Runs the real coordinator on a real socket with durable commits, and workers as processes of their
own with the real client and real sealed bundles; only the attempt is replaced by a wait. The
lengths of the waits have a heavy tail. Their mean is that of an attempt on the simulated phone
(harness.py prints it); attempts on other phones take longer. No schedule can beat
max(sum / workers, longest). Also prints the makespan that the order would have if leases and
commits cost nothing, for longest first and for random orders. Exits 1 if the measured makespan
exceeds 1.03 times the bound.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from typing import TypeAlias

from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.messages import Lease, RunFinished
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import AttemptCommitted, Event, LeaseGranted
from orchestrator.evidence.attempt import NAME, AttemptRecord
from orchestrator.evidence.bundle import Bundle, wall_ms
from orchestrator.outcome import OracleResults, judge
from orchestrator.plan.plan import Episode, Plan, PlannedCase
from orchestrator.settings import RunSettings
from orchestrator.worker.staging import begin_attempt, seal_attempt, send_attempt

MOST = 1.03
SPREAD = 1.2  # lognormal: the longest of 240 is some 15 times the mean
PICTURE = 40_000  # bytes of one screenshot
KEY = WorkerKey("bench")

RUNS = Path(__file__).resolve().parents[1] / "runs"  # a disk whose syncs cost; /tmp may be memory

SUCCEEDED = OracleResults(success=True, held_before=False)

Urls: TypeAlias = "Queue[str]"


@dataclass(frozen=True)
class Measured:
    makespan: float
    beside: list[float]  # seconds from grant to commit that were no wait, by attempt


def lengths(count: int, mean: float, seed: int) -> dict[str, float]:
    """Seconds by episode, in no order of length."""
    draw = random.Random(seed)
    raw = [draw.lognormvariate(0, SPREAD) for _ in range(count)]
    scale = mean * count / sum(raw)
    return {f"case{number:03d}.benign.1": value * scale for number, value in enumerate(raw)}


def orders(waits: Mapping[str, float], seed: int) -> dict[str, list[float]]:
    chance = list(waits.values())
    random.Random(seed).shuffle(chance)
    return {
        "the order alone, longest first": sorted(waits.values(), reverse=True),
        "the order alone, by chance": chance,
    }


def listed(order: Iterable[float], workers: int) -> float:
    """The makespan where whoever is free takes the next, at no cost."""
    free = [0.0] * workers
    for seconds in order:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def plan_of(waits: Mapping[str, float]) -> Plan:
    """The lengths as what is expected of the episodes."""
    cases = tuple(PlannedCase(id.split(".")[0], "0" * 64, {}, {}) for id in waits)
    episodes = tuple(
        Episode(id, id.split(".")[0], "benign", 1, 0, seconds) for id, seconds in waits.items()
    )
    return Plan(0, 1, "bench", "bench", "0" * 64, cases, episodes)


def worker(number: int, waits: Mapping[str, float], staging: Path, urls: Urls) -> None:
    """A worker's loop with a wait for its attempt."""
    device, own = f"slot-{number:02d}.1", staging / f"{number}"
    own.mkdir()
    with CoordinatorClient(urls.get(), KEY.secret(device), worker=device) as client:
        client.device_started({})
        while not isinstance(lease := client.lease(), RunFinished):
            if not isinstance(lease, Lease):
                continue  # the others' attempts are still to end
            with Bundle(begin_attempt(own, lease.token)) as bundle:
                attempt(bundle, lease, device, waits[lease.episode])
            send_attempt(client, seal_attempt(own))


def attempt(bundle: Bundle, lease: Lease, device: str, seconds: float) -> None:
    started_ms = wall_ms()
    time.sleep(seconds)
    bundle.screenshot(os.urandom(PICTURE))
    record = AttemptRecord(
        episode=lease.episode, attempt=lease.attempt, device=device,
        judgement=judge(SUCCEEDED, None), oracle_results=SUCCEEDED,
        started_ms=started_ms, ended_ms=wall_ms(),
    )  # fmt: skip
    bundle.document(NAME, record.model_dump(mode="json"))


class Gaps:
    """What each worker's time is spent on beside its waits, from the coordinator's own events."""

    def __init__(self, waits: Mapping[str, float]) -> None:
        self._waits = waits
        self._since: dict[str, float] = {}
        self.seconds: list[float] = []

    def hear(self, event: Event) -> None:
        now = time.monotonic()
        if isinstance(event, LeaseGranted):
            self._since[event.device] = now
        elif isinstance(event, AttemptCommitted):
            self.seconds.append(now - self._since[event.device] - self._waits[event.episode])


def measure(waits: Mapping[str, float], workers: int) -> Measured:
    context = multiprocessing.get_context("fork")  # they find everything imported
    with tempfile.TemporaryDirectory(prefix="bench-", dir=RUNS) as name:
        folder, urls = Path(name), context.Queue()
        (folder / "staging").mkdir()
        crew = [
            context.Process(target=worker, args=(number, waits, folder / "staging", urls))
            for number in range(workers)
        ]
        for process in crew:
            process.start()
        try:
            return asyncio.run(conduct(folder / "run", plan_of(waits), waits, workers, urls))
        finally:
            for process in crew:
                process.join(10)
                process.kill()


async def conduct(
    run: Path, plan: Plan, waits: Mapping[str, float], workers: int, urls: Urls
) -> Measured:
    gaps = Gaps(waits)
    opened = open_run(run, plan, RunSettings(agent=plan.agent))
    async with opened as coordinator, listening(coordinator, Secrets(KEY, "admin")) as url:
        coordinator.subscribe(gaps.hear)
        started = time.monotonic()
        for _ in range(workers):
            urls.put(url)
        await over(coordinator, 30 + 3 * listed(waits.values(), workers))
        makespan = time.monotonic() - started
        await coordinator.seal()
        return Measured(makespan, gaps.seconds)


async def over(coordinator: Coordinator, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await coordinator.over.wait()
    if coordinator.stopped is not None:
        raise coordinator.stopped


def surroundings() -> str:
    """What else the machine is busy with decides what a commit costs."""
    with tempfile.TemporaryFile(dir=RUNS) as file:
        taken = []
        for _ in range(50):
            started = time.perf_counter()
            file.write(b"line\n")
            file.flush()
            os.fdatasync(file.fileno())
            taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    return (
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; one synced line "
        f"{statistics.median(taken):.2f} ms, p95 {taken[47]:.2f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=240)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--mean", type=float, default=2.6, help="of an attempt, in seconds")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    waits = lengths(given.episodes, given.mean, given.seed)
    ordered = sorted(waits.values())
    bound = max(sum(ordered) / given.workers, ordered[-1])
    print(
        f"{given.episodes} episodes on {given.workers} workers: median "
        f"{statistics.median(ordered):.2f} s, longest {ordered[-1]:.2f} s, all {sum(ordered):.1f} s"
    )
    RUNS.mkdir(exist_ok=True)
    print(f"before: {surroundings()}")
    print(f"{'lower bound':<40}{bound:>9.3f} s")
    for name, order in orders(waits, given.seed).items():
        alone = listed(order, given.workers)
        print(f"{name:<40}{alone:>9.3f} s  ratio {alone / bound:.4f}")
    result = measure(waits, given.workers)
    ratio, gaps = result.makespan / bound, sorted(result.beside)
    print(f"{'measured, longest first':<40}{result.makespan:>9.3f} s  ratio {ratio:.4f}")
    print(
        f"{'  grant to commit, less the wait':<40}{statistics.median(gaps) * 1000:>9.2f} ms"
        f"  p95 {gaps[round(0.95 * (len(gaps) - 1))] * 1000:.2f} ms  n={len(gaps)}"
    )
    print(f"after: {surroundings()}")
    print(f"{'ok' if ratio <= MOST else 'TOO LONG'}: at most {MOST} of the bound is asked for")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
