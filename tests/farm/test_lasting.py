"""A coordinator whose pairs outlive it leaves them, and its successor adopts them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.claims import claim_run
from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    EpisodeDecided,
    Event,
    LeaseReturned,
)
from orchestrator.errors import EmufarmError, RunInterrupted
from orchestrator.farm import documents
from orchestrator.farm.execute import Lasting, WantedDevices, execute
from orchestrator.farm.run_events import Notice, RunEvent
from orchestrator.worker import staging
from tests.coordinator.runs import a_bundle, a_plan
from tests.farm.test_execute import Backend, Deed, Fleet, a_job
from tests.ports import even_port

SECRETS = Secrets(WorkerKey("a key"), "an admin")


@pytest.fixture(autouse=True)
def no_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """These runs have no manifest to which facts of their devices could be added."""
    monkeypatch.setattr(documents, "record_devices", lambda run: None)


class Cluster:
    """One coordinator after another, on one address."""

    def __init__(self, folder: Path, episodes: int = 1) -> None:
        self.folder = folder
        self.plan = a_plan(episodes)
        self.port = even_port()
        self.interrupted = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.wanted = WantedDevices(1)
        self.fleet: Fleet | None = None
        self.notices: list[str] = []

    def heard(self, event: RunEvent) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.text)

    async def coordinator(self, deed: Deed, *alive: str, left: tuple[Path, ...] = ()) -> bool:
        self.interrupted.clear()
        backend = Backend(deed, alive=alive, left=left)
        url = f"http://127.0.0.1:{self.port}"
        lasting = Lasting(SECRETS, self.port, url, self.wanted, self.cancelled)
        try:
            job = a_job(self.folder, backend, self.plan, 1)
            return await execute(job, self.heard, self.interrupted, lasting)
        finally:
            (self.fleet,) = backend.fleets

    def events(self) -> list[Event]:
        return [line.event for line in chain.read(self.folder / "run" / "journal").lines]


def worker_of(fleet: Fleet) -> CoordinatorClient:
    secret = SECRETS.workers.secret("slot-00.1")
    return CoordinatorClient(fleet.order.coordinator, secret, worker="w", away_s=0.0)


async def forever(fleet: Fleet) -> None:
    await asyncio.Event().wait()


async def leased(cluster: Cluster) -> Lease:
    """By a worker whose coordinator is then asked to stop."""
    leases: list[Lease] = []

    async def lease_and_interrupt(fleet: Fleet) -> None:
        leases.append(await fleet.lease("slot-00.1"))
        cluster.interrupted.set()
        await forever(fleet)

    with pytest.raises(RunInterrupted):
        await cluster.coordinator(lease_and_interrupt)
    return leases[0]


async def test_a_worker_that_lives_goes_on_under_its_lease(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    lease = await leased(cluster)
    assert cluster.fleet is not None
    assert cluster.fleet.left
    bundle = a_bundle(tmp_path / "b", lease, "slot-00.1")

    async def go_on(fleet: Fleet) -> None:
        assert fleet.order.adopted == ("slot-00.1",)
        assert fleet.order.first_numbers == {"slot-00": 2}
        assert fleet.order.coordinator == f"http://127.0.0.1:{cluster.port}"
        with worker_of(fleet) as client:
            assert await asyncio.to_thread(client.renew, lease.token) == lease.expires_s
            await asyncio.to_thread(client.commit, lease.token, bundle)

    assert await cluster.coordinator(go_on, "slot-00.1")
    assert cluster.fleet is not None
    assert cluster.fleet.ended_pairs  # all is decided
    events = cluster.events()
    assert sum(isinstance(event, EpisodeDecided) for event in events) == 1
    (committed,) = [event for event in events if isinstance(event, AttemptCommitted)]
    assert (committed.attempt, committed.token) == (1, lease.token)
    assert not any(isinstance(event, LeaseReturned | AttemptLost) for event in events)


async def test_a_device_that_was_gone_when_its_coordinator_came_back_was_lost(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path)
    lease = await leased(cluster)

    async def stop(fleet: Fleet) -> None:
        cluster.interrupted.set()
        await forever(fleet)

    with pytest.raises(RunInterrupted):
        await cluster.coordinator(stop)
    (lost,) = [event for event in cluster.events() if isinstance(event, AttemptLost)]
    assert (lost.token, lost.judgement.reason) == (lease.token, "host_lost")
    assert "gone when the coordinator came back" in lost.judgement.text


async def test_staging_that_a_worker_still_uses_does_not_keep_a_coordinator_from_its_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It outlives its Pod on a node that nobody reaches, and waits for a coordinator itself."""
    monkeypatch.setattr(staging, "LOCK_S", 0.1)
    cluster = Cluster(tmp_path)
    lease = await leased(cluster)
    used, unused = tmp_path / "slot-00.1", tmp_path / "slot-01.1"
    sealed = unused / "sealed-1"
    a_bundle(sealed / "bundle", lease, "slot-00.1")
    (sealed / "token").write_text(lease.token)
    with staging.lock_staging(used):
        assert await cluster.coordinator(forever, left=(used, unused))
    (notice,) = (line for line in cluster.notices if "stays in" in line)
    assert notice == (
        f"what the worker of slot-00.1 had sealed stays in {used}: another worker uses {used}"
    )
    (committed,) = [e for e in cluster.events() if isinstance(e, AttemptCommitted)]
    assert committed.token == lease.token


async def test_what_many_dead_workers_had_sealed_is_committed_at_once(tmp_path: Path) -> None:
    """More than the event loop has threads, since each commit needs one of those."""
    many = 40
    cluster = Cluster(tmp_path, episodes=many)
    devices = [f"slot-{number:02d}.1" for number in range(many)]
    left: list[Path] = []

    async def seal_all(fleet: Fleet) -> None:
        for device in devices:
            lease, sealed = await fleet.lease(device), tmp_path / device / "sealed-1"
            a_bundle(sealed / "bundle", lease, device)
            (sealed / "token").write_text(lease.token)
            left.append(sealed.parent)
        cluster.interrupted.set()
        await forever(fleet)

    with pytest.raises(RunInterrupted):
        await cluster.coordinator(seal_all)
    async with asyncio.timeout(120):
        assert await cluster.coordinator(forever, left=tuple(left))
    committed = {e.device for e in cluster.events() if isinstance(e, AttemptCommitted)}
    assert committed == set(devices)


async def test_only_cancelling_ends_the_pairs(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)

    async def cancel(fleet: Fleet) -> None:
        cluster.cancelled.set()
        await forever(fleet)

    assert not await cluster.coordinator(cancel)
    assert cluster.fleet is not None
    assert cluster.fleet.ended_pairs


async def test_a_run_that_was_cancelled_while_nobody_was_there_ends_the_pairs_that_were_left(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path)
    await leased(cluster)
    cluster.cancelled.set()
    assert not await cluster.coordinator(forever, "slot-00.1")
    assert cluster.fleet is not None
    assert (cluster.fleet.order.adopted, cluster.fleet.ended_pairs) == (("slot-00.1",), True)


async def test_a_coordinator_that_comes_after_the_last_decision_ends_what_is_left(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path)

    async def commit(fleet: Fleet) -> None:
        await fleet.commit("slot-00.1")
        await forever(fleet)

    assert await cluster.coordinator(commit)
    assert await cluster.coordinator(forever, "slot-00.1")
    assert cluster.fleet is not None
    assert (cluster.fleet.order.devices, cluster.fleet.ended_pairs) == (0, True)


async def test_what_was_scaled_down_while_nobody_was_there_is_scaled_down_then(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path, episodes=3)
    await leased(cluster)

    async def stop(fleet: Fleet) -> None:
        await asyncio.sleep(0)
        cluster.interrupted.set()
        await forever(fleet)

    with pytest.raises(RunInterrupted):
        await cluster.coordinator(stop, "slot-00.1", "slot-01.1")
    assert cluster.fleet is not None
    assert cluster.fleet.sizes == [(1, {"slot-00.1"})]


async def test_a_coordinator_that_lost_its_claim_leaves_the_pairs_to_the_one_that_has_it(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path)

    async def lose(fleet: Fleet) -> None:
        claim_run(tmp_path / "run")
        with (
            worker_of(fleet) as client,
            pytest.raises(EmufarmError, match="another coordinator"),
        ):
            await asyncio.to_thread(client.lease, 0)
        await forever(fleet)

    with pytest.raises(EmufarmError, match="run by another coordinator now"):
        await cluster.coordinator(lose)
    assert cluster.fleet is not None
    assert cluster.fleet.left


async def test_a_coordinator_that_could_not_write_the_last_decision_leaves_the_pairs(
    tmp_path: Path,
) -> None:
    """In its memory all is decided."""
    cluster = Cluster(tmp_path)

    async def lose(fleet: Fleet) -> None:
        lease = await fleet.lease("slot-00.1")
        claim_run(tmp_path / "run")
        bundle = a_bundle(tmp_path / "b", lease, "slot-00.1")
        with (
            worker_of(fleet) as client,
            pytest.raises(EmufarmError, match="another coordinator"),
        ):
            await asyncio.to_thread(client.commit, lease.token, bundle)
        await forever(fleet)

    with pytest.raises(EmufarmError, match="run by another coordinator now"):
        await cluster.coordinator(lose)
    assert cluster.fleet is not None
    assert (cluster.fleet.left, cluster.fleet.ended_pairs) == (True, False)


async def test_a_coordinator_that_has_left_its_pairs_does_not_seal_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commit comes in between; who comes next ends the pairs and seals."""
    cluster = Cluster(tmp_path)
    leases: list[Lease] = []

    async def interrupt(fleet: Fleet) -> None:
        leases.append(await fleet.lease("slot-00.1"))
        cluster.interrupted.set()
        await forever(fleet)

    async def leave(fleet: Fleet) -> None:
        fleet.left = True
        bundle = a_bundle(tmp_path / "b", leases[0], "slot-00.1")
        with worker_of(fleet) as client:
            await asyncio.to_thread(client.commit, leases[0].token, bundle)

    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "leave", leave)
        with pytest.raises(RunInterrupted):
            await cluster.coordinator(interrupt)
    assert not chain.read(tmp_path / "run" / "journal").sealed
    assert await cluster.coordinator(forever, "slot-00.1")
    assert cluster.fleet is not None
    assert cluster.fleet.ended_pairs
    assert chain.read(tmp_path / "run" / "journal").sealed


async def test_a_coordinator_that_cannot_scale_down_at_its_start_leaves_the_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(tmp_path, episodes=3)

    async def resize(fleet: Fleet, devices: int, busy: set[str]) -> None:
        raise EmufarmError("the API server is away")

    monkeypatch.setattr(Fleet, "resize", resize)
    with pytest.raises(EmufarmError, match="the API server is away"):
        await cluster.coordinator(forever, "slot-00.1", "slot-01.1")
    assert cluster.fleet is not None
    assert not cluster.fleet.ended_pairs


async def test_a_coordinator_that_fails_leaves_its_pairs(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)

    async def fail(fleet: Fleet) -> None:
        raise EmufarmError("a watch broke")

    with pytest.raises(EmufarmError, match="a watch broke"):
        await cluster.coordinator(fail)
    assert cluster.fleet is not None
    assert cluster.fleet.left
