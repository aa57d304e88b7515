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
from orchestrator.coordinator.claims import claim_run
from orchestrator.coordinator.client import CoordinatorAway, CoordinatorClient
from orchestrator.coordinator.messages import Lease, LeaseAnswer, RunFinished
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import AttemptCommitted, EpisodeDecided
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
        secret = SECRETS.workers.secret(self.device)
        with CoordinatorClient(url, secret, worker="w", away_s=0.0) as client:
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
    tmp_path: Path, after: int
) -> None:
    """Killed once so many bundles lie in its store, while others are on their way."""
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
    journaled = {line.event.bundle for line in lines if isinstance(line.event, AttemptCommitted)}
    left = {bundle.relative_to(run).as_posix() for bundle in stored} - journaled
    assert all(name.endswith("-c1") for name in left)  # the killed one had not written their line
    assert not list((run / "incoming").iterdir())


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


async def test_a_stored_bundle_without_its_line_stays_and_is_stored_again_when_it_is_sent_again(
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
    place = run / "episodes" / lease.episode / "attempt-1-c1"
    shutil.copytree(bundle, place)
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        assert coordinator.state.undecided == 1
        with Served(coordinator, url, run).client("a") as client:
            assert await aside(client.commit, lease.token, bundle) == "committed"
        await coordinator.seal()
    names = sorted(path.name for path in place.parent.iterdir())
    assert names == ["attempt-1-c1", "attempt-1-c2"]
    decided = [line.event for line in chain.read(run / "journal").lines][-2]
    assert isinstance(decided, EpisodeDecided)
    assert decided.bundle.endswith("attempt-1-c2")


@pytest.mark.parametrize("alone", [True, False])
async def test_what_was_arriving_is_removed_only_where_its_coordinator_must_be_dead(
    tmp_path: Path, alone: bool
) -> None:
    run = tmp_path / "run"
    half = run / "incoming" / "1" / ".attempt-1-c1.0123.part"
    half.mkdir(parents=True)
    claim_run(run)
    (run / "episodes").mkdir()
    (run / "episodes" / "note.txt").write_text("mine")
    async with open_run(run, a_plan(1), SETTINGS, alone=alone):
        pass
    assert half.exists() is not alone
    assert (run / "episodes" / "note.txt").read_text() == "mine"


async def test_an_open_lease_survives_a_restart_with_a_full_term(tmp_path: Path) -> None:
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(2), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        lease = await asked(Served(coordinator, url, run))
    assert isinstance(lease, Lease)
    async with open_run(run, a_plan(2), SETTINGS) as coordinator:
        (told,) = coordinator.view()["devices"].values()
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
