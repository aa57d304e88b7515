"""Measures how many leases and commits the coordinator's HTTP API makes durable beside N workers.

    .venv/bin/python bench/coordinator.py [--workers 64 1000 10000] [--seconds 20] [--pace 33]

For each N a real coordinator runs in a process of its own, with its journal and bundles on the disk
of runs/. This process simulates the workers, each with a keep-alive connection. All but 32 of them
hold a lease and renew it after a third of its term, as real ones do. The other 32 lease and commit
as fast as they can, or together at the pace of --pace pairs a second: a bundle of three files and
17 kB, sealed and packed as a worker does it, but in memory, since the workers' syncs are not what
is measured. Beside them the admins' secret asks
for the state twice a second.

Requests are written to raw asyncio streams, since httpx needs several times their CPU and would be
what limits. The last line of each N says what did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import random
import resource
import secrets
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.process_load import CpuTimes, blocked_threads, cpu_times, memory_mb, sync_times
from orchestrator.cases.load import load_cases
from orchestrator.coordinator.client import CoordinatorRefused, LeaseLost
from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.messages import LEASE_HEADER, MANIFEST_HEADER, TOKEN_HEADER
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.events.interpreter import serve_steadily
from orchestrator.evidence import archive, attempt, manifest
from orchestrator.evidence.bundle import wall_ms
from orchestrator.outcome import OracleResults, judge
from orchestrator.plan.plan import Plan, build
from orchestrator.settings import RunSettings

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "runs"  # a disk whose syncs cost; /tmp may be memory
MEMORY = Path("/dev/shm")
SECRETS = Secrets(WorkerKey("bench"), "admin")
SUCCEEDED = OracleResults(success=True, held_before=False)
PICTURE = 16 << 10  # bytes in each bundle
COMMITTERS = 32
MOST_PAIRS_S = 1000  # the plan has episodes for so many
RENEW_S = RunSettings().limits.lease_s / 3
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples spread first renewals evenly over RENEW_S
AT_ONCE = 64  # workers that connect and take their first lease
STATE_S = 0.5  # between two requests for the state
SAMPLE_S = 0.1  # between two looks at which threads wait for the disk
START_S, FILL_S, ANSWER_S, END_S = 60.0, 300.0, 30.0, 30.0
SPARE_FILES = 200  # open files of a process beside its connections
FULL = 0.85  # of a core
WAITED = 0.2  # of the time
BLOCKED = 4.0  # half of the threads that store bundles

Samples = defaultdict[str, list[float]]  # request -> seconds


@dataclass(frozen=True)
class LoadResult:
    seconds: float
    pairs: int
    lost: int  # leases that expired, as they were not renewed in time
    samples: Mapping[str, Sequence[float]]
    shares: CpuTimes
    blocked: float  # threads of the coordinator that waited for the disk, on average
    memory_mb: float


def planned(episodes: int) -> Plan:
    """The public cases, repeated for at least so many episodes."""
    cases = load_cases(ROOT / "cases" / "public")
    settings = RunSettings(repeats=math.ceil(episodes / len(cases)))
    return build(cases, settings, "sim-api34", "0" * 64)


def coordinate(run: Path, episodes: int, parent: Connection) -> None:
    """Serves a run until the parent closes the connection or is gone."""

    async def until_closed() -> None:
        closed = asyncio.Event()
        opened = open_run(run, planned(episodes), RunSettings())
        async with opened as coordinator, listening(coordinator, SECRETS) as url:
            parent.send(url)
            asyncio.get_running_loop().add_reader(parent.fileno(), closed.set)
            await closed.wait()

    serve_steadily()  # as the coordinator of a cluster does
    asyncio.run(until_closed())


@contextmanager
def coordinating(run: Path, episodes: int) -> Iterator[tuple[int, str]]:
    """Starts a coordinator's process and yields its id and its URL."""
    context = multiprocessing.get_context("spawn")  # so that its memory is its own
    ours, theirs = context.Pipe()
    process = context.Process(target=coordinate, args=(run, episodes, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(START_S):
            raise TimeoutError(f"the coordinator did not start within {START_S:g} s")
        assert process.pid is not None
        yield process.pid, ours.recv()
    finally:
        ours.close()
        process.join(END_S)
        process.kill()  # if it has not ended by itself
        process.join(END_S)


@dataclass(frozen=True)
class ApiConnection:
    """A keep-alive connection of one sender, whose requests follow one another."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    secret: str
    samples: Samples

    async def ask(self, name: str, body: bytes = b"", headers: str = "") -> bytes:
        """The answer's body. How long it took to arrive is added to the samples."""
        head = (
            f"{'POST' if body else 'GET'} /v1/{name} HTTP/1.1\r\nHost: bench\r\n"
            f"{TOKEN_HEADER}: {self.secret}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        async with asyncio.timeout(ANSWER_S):
            self.writer.write(head.encode() + body)
            await self.writer.drain()
            answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
            content = await self.reader.readexactly(length)
        self.samples[name].append(time.perf_counter() - begun)
        status = int(answer.split(b" ", 2)[1])
        if status != 200:
            raise (LeaseLost if status == 410 else CoordinatorRefused)(content.decode())
        return content


class BundleFolder:
    """Seals and packs one small bundle after another."""

    def __init__(self, scratch: Path) -> None:
        self._folder, self._packed = scratch / "bundle", scratch / "bundle.tar.zst"
        (self._folder / "screenshots").mkdir(parents=True)
        (self._folder / "screenshots" / "1.png").write_bytes(os.urandom(PICTURE))

    def pack(self, episode: str, number: int, device: str) -> tuple[str, bytes]:
        """The manifest's digest, and the archive."""
        now = wall_ms()
        record = attempt.AttemptRecord(
            episode=episode, attempt=number, device=device,
            judgement=judge(SUCCEEDED, None), oracle_results=SUCCEEDED,
            started_ms=now - 2600, ended_ms=now,
            durations={"reset": 0.4, "setup": 0.2, "agent": 1.8, "oracle": 0.2},
        )  # fmt: skip
        (self._folder / attempt.NAME).write_text(record.model_dump_json())
        digest = manifest.seal(self._folder)
        archive.pack(self._folder, self._packed)
        return digest, self._packed.read_bytes()


@dataclass(frozen=True)
class SimulatedWorker:
    device: str
    connection: ApiConnection

    async def lease(self) -> dict[str, Any]:
        body = json.dumps({"worker": self.device, "request_id": secrets.token_hex(8)}).encode()
        answer: dict[str, Any] = json.loads(await self.connection.ask("lease", body))
        assert answer["answer"] == "Lease", f"the plan is too short: {answer}"
        return answer

    async def hold(self, token: str, first_s: float) -> None:
        """Renew until cancelled, or until the lease is lost, which the state counts."""
        body = json.dumps({"token": token}).encode()
        await asyncio.sleep(first_s)
        with suppress(LeaseLost):
            while True:
                await self.connection.ask("renew", body)
                await asyncio.sleep(RENEW_S)

    async def commit_pairs(self, bundles: BundleFolder, until: float, every_s: float) -> int:
        """Lease and commit until then, not more often than this; how often."""
        pairs, due = 0, time.monotonic() + random.uniform(0, every_s)
        while max(due, time.monotonic()) < until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due += every_s
            lease = await self.lease()
            digest, packed = bundles.pack(lease["episode"], lease["attempt"], self.device)
            headers = f"{LEASE_HEADER}: {lease['token']}\r\n{MANIFEST_HEADER}: {digest}\r\n"
            answer = await self.connection.ask("commit", packed, headers)
            assert json.loads(answer) == {"result": "committed"}, answer
            pairs += 1
        return pairs


class Crew:
    """The simulated workers of one coordinator."""

    def __init__(self, url: str, group: asyncio.TaskGroup) -> None:
        self.samples: Samples = defaultdict(list)
        self._url = urlsplit(url)
        self._group = group
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._ends: list[Callable[[], object]] = []  # of tasks and connections

    async def connect(self, secret: str) -> ApiConnection:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        self._ends.append(writer.close)
        return ApiConnection(reader, writer, secret, self.samples)

    async def worker(self, number: int) -> SimulatedWorker:
        device = f"slot-{number:05d}.1"
        return SimulatedWorker(device, await self.connect(SECRETS.workers.secret(device)))

    async def fill(self, numbers: range) -> None:
        """Returns once each of these workers holds a lease, which it renews from then on."""
        async with asyncio.timeout(FILL_S), asyncio.TaskGroup() as filling:
            for number in numbers:
                filling.create_task(self._holder(number))

    async def _holder(self, number: int) -> None:
        async with self._gate:
            worker = await self.worker(number)
            lease = await worker.lease()
        self.begin(worker.hold(lease["token"], RENEW_S * (number * GOLDEN % 1)))

    def begin(self, endless: Coroutine[Any, Any, None]) -> None:
        self._ends.append(self._group.create_task(endless).cancel)

    def end(self) -> None:
        for end in self._ends:
            end()


async def put_under_load(
    url: str, pid: int, workers: int, words: argparse.Namespace, bundles: BundleFolder
) -> LoadResult:
    """All but the committers hold leases first; then the time begins."""
    blocked: list[int] = []
    committers = range(min(COMMITTERS, workers))
    every_s = len(committers) / words.pace if words.pace else 0.0
    async with asyncio.TaskGroup() as group:
        crew = Crew(url, group)
        await crew.fill(range(len(committers), workers))
        committing = [await crew.worker(number) for number in committers]
        crew.samples.clear()
        crew.begin(ask_state(await crew.connect(SECRETS.admin)))
        crew.begin(watch_disk(pid, blocked))
        before, until = cpu_times(pid), time.monotonic() + words.seconds
        playing = (worker.commit_pairs(bundles, until, every_s) for worker in committing)
        pairs = sum(await asyncio.gather(*playing))
        after = cpu_times(pid)
        samples = {name: tuple(taken) for name, taken in crew.samples.items()}
        state = json.loads(await (await crew.connect(SECRETS.admin)).ask("state"))
        crew.end()
    assert state["decided"] == pairs, f"{pairs} were committed, {state['decided']} are decided"
    wall = after.wall - before.wall
    shares = CpuTimes(*((end - begin) / wall for end, begin in zip(after, before, strict=True)))
    lost, in_disk = state["infra_attempts"], sum(blocked) / len(blocked)
    return LoadResult(wall, pairs, lost, samples, shares, in_disk, memory_mb(pid))


async def ask_state(admin: ApiConnection) -> None:
    while True:
        await admin.ask("state")
        await asyncio.sleep(STATE_S)


async def watch_disk(pid: int, blocked: list[int]) -> None:
    while True:
        blocked.append(blocked_threads(pid))
        await asyncio.sleep(SAMPLE_S)


def in_ms(samples: Sequence[float]) -> str:
    if not samples:
        return "none"
    ordered = sorted(samples)
    p50, p99 = (ordered[math.ceil(share * len(ordered)) - 1] * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:8.1f} ms   p99 {p99:8.1f} ms   n {len(ordered)}"


def limit(result: LoadResult) -> str:
    shares = result.shares
    if shares.own >= FULL:
        return "the load generator's CPU: the coordinator may be faster than this"
    if shares.waited >= WAITED:
        return "this machine's cores: the coordinator was ready and did not get one"
    if shares.user + shares.system >= FULL:
        return "the coordinator's CPU"
    if result.blocked >= BLOCKED:
        return "disk sync: most of the threads that store bundles waited for the disk"
    return "nothing alone: the coordinator's threads wait for one another and for the disk in turn"


def show(workers: int, result: LoadResult) -> None:
    shares, rate = result.shares, result.pairs / result.seconds
    print(
        f"{workers} workers for {result.seconds:.1f} s; load {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores\n"
        f"  {rate:.1f} durable lease+commit pairs/s, {result.lost} leases lost"
    )
    for name in ("lease", "commit", "renew", "state"):
        print(f"  {name:<8}{in_ms(result.samples.get(name, ()))}")
    print(
        f"  coordinator {shares.user + shares.system:.0%} CPU ({shares.user:.0%} user, "
        f"{shares.system:.0%} system), {result.memory_mb:.0f} MB; its loop waited for a core "
        f"{shares.waited:.0%} of the time, {result.blocked:.1f} of its threads for the disk\n"
        f"  load generator {shares.own:.0%} CPU, other processes {shares.others:.0%}\n"
        f"  limit: {limit(result)}",
        flush=True,
    )


def measure(workers: int, words: argparse.Namespace, run: Path) -> None:
    episodes = workers + math.ceil(words.seconds * MOST_PAIRS_S)
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory,
        coordinating(run, episodes) as (pid, url),
    ):
        bundles = BundleFolder(Path(memory))
        show(workers, asyncio.run(put_under_load(url, pid, workers, words, bundles)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[64, 1000, 10_000], metavar="N")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pace", type=float, default=0.0, help="pairs a second; 0: all it can")
    given = parser.parse_args()
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    RUNS.mkdir(exist_ok=True)
    # Removed at the end only: for minutes, ext4 makes new files slowly where others were removed.
    with tempfile.TemporaryDirectory(prefix=".coordinator-", dir=RUNS) as folder:
        print(f"a sync on this disk, alone: {in_ms(sync_times(Path(folder)))}", flush=True)
        for number, workers in enumerate(given.workers):
            if workers + SPARE_FILES > most_files:
                print(f"{workers} workers are left out: a process may open only {most_files} files")
            else:
                # Alone in its folder: no other journal is asked for durations.
                measure(workers, given, Path(folder) / f"run-{number}" / "run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
