"""When a coordinator is killed at any moment, no acknowledged commit is lost or decided twice."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.client import CoordinatorAway, CoordinatorClient
from orchestrator.coordinator.messages import Lease, LeaseAnswer, RunFinished
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import EpisodeDecided
from orchestrator.evidence import manifest
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan

EPISODES = 24
PROGRAM = """
import asyncio, sys
from pathlib import Path
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.open_run import open_run
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import SETTINGS, a_plan

async def main():
    run = Path(sys.argv[1])
    async with (
        open_run(run, a_plan(int(sys.argv[2])), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        print(url, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


class Worker:
    """Works until the coordinator is gone; keeps what it could not deliver."""

    def __init__(self, device: str, staging: Path) -> None:
        self.device = device
        self.staging = staging
        self.left: list[tuple[str, Path]] = []  # sealed, not acknowledged
        self.committed: list[str] = []

    def work(self, url: str) -> None:
        with CoordinatorClient(url, SECRETS.worker, worker="w", device=self.device) as client:
            try:
                while self.left:
                    self.deliver(client)
                while isinstance(lease := client.lease(1), Lease):
                    folder = self.staging / f"{self.device}-{len(self.committed)}-{lease.attempt}"
                    shutil.rmtree(folder, ignore_errors=True)
                    self.left.append((lease.token, a_bundle(folder, lease, self.device)))
                    self.deliver(client)
            except CoordinatorAway:
                return

    def deliver(self, client: CoordinatorClient) -> None:
        token, bundle = self.left[-1]
        assert client.commit(token, bundle) == "committed"
        self.committed.append(token.split("/")[0])
        self.left.pop()


@pytest.mark.parametrize("after", [1, 4, 9, 15])
def test_a_coordinator_killed_in_mid_commit_goes_on_where_it_was(
    tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed once so many bundles lie in its store, while others are on their way."""
    monkeypatch.setattr("orchestrator.coordinator.client.COORDINATOR", lambda ask: ask())
    run = tmp_path / "runs" / "one"
    workers = [Worker(device, tmp_path / "staging") for device in ("a", "b", "c")]
    command = [sys.executable, "-c", PROGRAM, str(run), str(EPISODES)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ThreadPoolExecutor(len(workers)) as threads,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        working = [threads.submit(worker.work, url) for worker in workers]
        while len(list(run.glob("episodes/*/attempt-*"))) < after:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        for each in working:
            each.result()

    asyncio.run(finish(run, workers))

    lines = chain.read(run / "journal").lines
    decided = [line.event.episode for line in lines if isinstance(line.event, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == EPISODES
    acknowledged = [episode for worker in workers for episode in worker.committed]
    assert len(acknowledged) == len(set(acknowledged))
    stored = sorted(run.glob("episodes/*/*"))
    assert [manifest.verify(bundle) for bundle in stored] == [[]] * len(stored)
    assert not list(run.glob("episodes/*/aside-*"))
    assert not list(run.glob("episodes/*/.*"))


async def finish(run: Path, workers: list[Worker]) -> None:
    """The same workers come back to a coordinator that replays the journal."""
    async with open_run(run, a_plan(EPISODES), SETTINGS) as coordinator:
        decided = {id for id, known in coordinator.state.progress.items() if known.decided}
        assert {episode for worker in workers for episode in worker.committed} <= decided
        async with listening(coordinator, SECRETS) as url:
            await asyncio.gather(*(aside(worker.work, url) for worker in workers))
        assert coordinator.over.is_set()
        await coordinator.seal()


async def asked(served: Served) -> LeaseAnswer:
    with served.client("a") as client:
        return await aside(client.lease, 0)


async def test_a_stored_bundle_without_its_line_is_set_aside_and_taken_when_sent_again(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        lease = await asked(Served(coordinator, url, run))
        assert isinstance(lease, Lease)
    bundle = a_bundle(tmp_path / "b", lease, "a")
    place = run / "episodes" / lease.episode / "attempt-1"
    shutil.copytree(bundle, place)
    (place.parent / ".attempt-1.123.part").mkdir()

    for _ in range(2):  # it may die again before the worker comes back
        async with open_run(run, a_plan(1), SETTINGS):
            pass
        (kept,) = place.parent.iterdir()
        assert kept.name == f"aside-1-{manifest.digest(bundle)[:16]}"
        shutil.copytree(bundle, place)
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        assert coordinator.state.undecided == 1
        with Served(coordinator, url, run).client("a") as client:
            assert await aside(client.commit, lease.token, bundle) == "committed"
    assert [path.name for path in place.parent.iterdir()] == ["attempt-1"]


async def test_what_is_nobodys_debris_stays(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "episodes" / "case_0.benign.0" / "fenced-0123").mkdir(parents=True)
    (run / "episodes" / "note.txt").write_text("mine")
    (run / "episodes" / "case_0.benign.0" / "note.txt").write_text("mine too")
    async with open_run(run, a_plan(1), SETTINGS):
        pass
    left = sorted(path.name for path in (run / "episodes").rglob("*"))
    assert left == ["case_0.benign.0", "note.txt", "note.txt"]


async def test_debris_that_cannot_be_cleared_stops_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "episodes" / "case_0.benign.0").mkdir(parents=True)
    (run / "episodes" / "case_0.benign.0" / "fenced-0123").write_text("no folder")
    async with open_run(run, a_plan(1), SETTINGS) as coordinator:
        await coordinator.over.wait()
        assert "cannot be cleared" in str(coordinator.stopped)


async def test_an_open_lease_survives_a_restart_with_a_full_term(tmp_path: Path) -> None:
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(2), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        lease = await asked(Served(coordinator, url, run))
    assert isinstance(lease, Lease)
    async with open_run(run, a_plan(2), SETTINGS) as coordinator:
        (told,) = coordinator.view()["leases"]
        assert told["expires_s"] == pytest.approx(30, abs=5)
        assert coordinator.renew(lease.token) == 30


async def test_what_a_dead_coordinator_left_undecided_is_decided(tmp_path: Path) -> None:
    """The line of the attempt was durable, that of the decision was torn."""
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        with Served(coordinator, url, run).client("a") as client:
            lease = await aside(client.lease, 0)
            assert isinstance(lease, Lease)
            await aside(client.commit, lease.token, a_bundle(tmp_path / "b", lease, "a"))
    segment = run / "journal" / "000001.jsonl"
    segment.write_bytes(segment.read_bytes()[:-10])
    async with open_run(run, a_plan(1), SETTINGS) as coordinator:
        assert coordinator.over.is_set()
        await coordinator.seal()
    read = chain.read(run / "journal")
    assert read.sealed
    assert sum(isinstance(line.event, EpisodeDecided) for line in read.lines) == 1


async def test_a_sealed_run_is_only_read(tmp_path: Path) -> None:
    run = tmp_path / "run"
    async with open_run(run, a_plan(0), SETTINGS) as coordinator:
        await coordinator.seal()
    before = [path.read_bytes() for path in sorted((run / "journal").iterdir())]
    async with (
        open_run(run, a_plan(0), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        assert coordinator.over.is_set()
        answer = await asked(Served(coordinator, url, run))
        await coordinator.seal()
    assert isinstance(answer, RunFinished)
    assert [path.read_bytes() for path in sorted((run / "journal").iterdir())] == before
