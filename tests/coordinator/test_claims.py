"""Of two living coordinators the later one writes, and the earlier one acknowledges nothing."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.claims import Claim, ClaimLost, claim_run
from orchestrator.coordinator.client import CoordinatorAway
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.journal import Journal
from orchestrator.coordinator.ledger import CoordinatorStopped, Ledger
from orchestrator.coordinator.messages import Lease, LeaseAnswer, LeaseRequest
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import DeviceQuarantined, Event, SegmentOpened
from orchestrator.report.verify.run_folder import documents_to_seal, scan
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan


class NetworkVolume:
    """How one client of a network volume sees it with the mount option that we ask for: a listing
    and a name that was found may be as old as its first look; a name that was not found is looked
    up anew."""

    def __init__(self) -> None:
        self._listed: dict[Path, list[str]] = {}
        self._found: set[Path] = set()

    def listed(self, folder: Path) -> list[str]:
        return self._listed.setdefault(folder, os.listdir(folder))

    def exists(self, path: Path) -> bool:
        if path not in self._found and path.exists():
            self._found.add(path)
        return path in self._found


def quarantined(number: int) -> Event:
    return DeviceQuarantined(device=f"d{number}", text="broken")


def devices(run: Path) -> list[str]:
    events = (line.event for line in chain.read(run / chain.FOLDER).lines)
    return [event.device for event in events if isinstance(event, DeviceQuarantined)]


def journal_of(run: Path, claim: Claim) -> Journal:
    reader = chain.JournalReader(run / chain.FOLDER, before=claim.number)
    for _ in reader:
        pass
    return Journal(run / chain.FOLDER, reader.end, claim)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_no_two_claims_have_one_number(run: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        claims = list(threads.map(lambda _: claim_run(run), range(40)))
    assert sorted(claim.number for claim in claims) == list(range(1, 41))


def test_a_claim_whose_listing_is_late_is_above_the_others_all_the_same(run: Path) -> None:
    volume = NetworkVolume()
    first = claim_run(run, listed=volume.listed)
    for _ in range(3):
        claim_run(run)
    assert (first.number, claim_run(run, listed=volume.listed).number) == (1, 5)


def test_a_claim_is_above_every_segment_of_a_run_that_was_copied_without_its_claims(
    run: Path,
) -> None:
    assert claim_run(run, taken=[1, 3]).number == 4


async def test_a_writer_stops_at_its_first_sync_after_a_later_claim(run: Path) -> None:
    old = journal_of(run, claim_run(run))
    await old.append([quarantined(1)])
    claim_run(run)
    with pytest.raises(ClaimLost, match="run by another coordinator now"):
        await old.append([quarantined(2)])
    with pytest.raises(ClaimLost):
        await old.append([quarantined(3)])
    await old.close()
    assert devices(run) == ["d1", "d2"]  # written, and never acknowledged


async def test_what_is_written_behind_the_successors_back_never_counts(run: Path) -> None:
    """The old one's segment grows after the new one has read it."""
    old = journal_of(run, claim_run(run))
    await old.append([quarantined(1)])
    new = journal_of(run, claim_run(run))
    with pytest.raises(ClaimLost):
        await old.append([quarantined(2)])
    await new.append([quarantined(3)])
    assert devices(run) == ["d1", "d3"]
    await asyncio.gather(old.close(), new.close())


async def test_a_segment_that_is_opened_after_a_later_one_never_counts(run: Path) -> None:
    """Its coordinator had made its claim, and then waited for the disk."""
    first = journal_of(run, claim_run(run))
    await first.append([quarantined(1)])
    slow = claim_run(run)
    reader = chain.JournalReader(run / chain.FOLDER, before=slow.number)
    list(reader)
    new = journal_of(run, claim_run(run))
    await new.append([quarantined(3)])
    with pytest.raises(ClaimLost):
        Journal(run / chain.FOLDER, reader.end, slow)
    assert devices(run) == ["d1", "d3"]
    opened = [line.event for line in chain.read(run / chain.FOLDER).lines]
    assert [event.claim for event in opened if isinstance(event, SegmentOpened)] == [1, 3]
    await asyncio.gather(first.close(), new.close())


async def test_a_successor_with_late_listings_reads_every_segment(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node had looked at the folder before, so that a listing shows what was there then."""
    first = journal_of(run, claim_run(run))
    await first.append([quarantined(1)])
    volume, glob = NetworkVolume(), Path.glob
    volume.listed(run / chain.FOLDER)
    second = journal_of(run, claim_run(run))
    await second.append([quarantined(2)])

    def late(folder: Path, pattern: str) -> Iterator[Path]:
        names = volume.listed(folder)
        return (path for path in glob(folder, pattern) if path.name in names)

    monkeypatch.setattr(Path, "glob", late)
    third = journal_of(run, claim_run(run, listed=volume.listed))
    await third.append([quarantined(3)])
    monkeypatch.undo()
    assert devices(run) == ["d1", "d2", "d3"]
    await asyncio.gather(first.close(), second.close(), third.close())


async def test_a_coordinator_with_late_listings_finds_the_later_claim(run: Path) -> None:
    volume = NetworkVolume()
    old = journal_of(run, claim_run(run, listed=volume.listed, exists=volume.exists))
    await old.append([quarantined(1)])
    claim_run(run)
    with pytest.raises(ClaimLost):
        await old.append([quarantined(2)])
    await old.close()


async def asked(coordinator: Coordinator, device: str, wait: float = 0) -> LeaseAnswer:
    async def disconnected() -> bool:
        return False

    request = LeaseRequest(worker="w", request_id=device, wait=wait)
    return await coordinator.lease(device, request, disconnected)


async def granted(coordinator: Coordinator) -> Lease:
    lease = await asked(coordinator, "a")
    assert isinstance(lease, Lease)
    return lease


async def test_a_segment_is_on_disk_before_the_next_one_seals_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer may have been killed between a write and the sync of it."""
    first = journal_of(run, claim_run(run))
    await first.append([quarantined(1)])
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(path_of(file)))
    monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(path_of(file)))
    second = journal_of(run, claim_run(run))
    assert synced.index("000001.jsonl") < synced.index("000002.jsonl")
    await asyncio.gather(first.close(), second.close())


def path_of(file: int) -> str:
    return Path(f"/proc/self/fd/{file}").readlink().name


async def test_a_coordinator_that_only_renews_finds_a_later_claim(run: Path) -> None:
    async with open_run(run, a_plan(1), SETTINGS, alone=False) as old:
        lease = await granted(old)
        claim_run(run)
        async with asyncio.timeout(60):
            await old.over.wait()
        with pytest.raises(CoordinatorStopped, match="another coordinator"):
            old.renew(lease.token)


async def test_a_volume_that_does_not_answer_between_two_writes_stops_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    def away(claim: Claim) -> None:
        looked.set()
        raise OSError(errno.ESTALE, "Stale file handle")

    async with open_run(run, a_plan(1), SETTINGS) as one:
        with monkeypatch.context() as patch:
            patch.setattr(Claim, "check", away)
            assert await asyncio.to_thread(looked.wait, 60)
        assert one.stopped is None
        await granted(one)


async def test_no_worker_is_sent_home_by_a_decision_that_was_never_written(tmp_path: Path) -> None:
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(1), SETTINGS, alone=False) as old,
        listening(old, SECRETS) as url,
    ):
        lease = await granted(old)
        waiting = asyncio.create_task(asked(old, "b", wait=20))
        await asyncio.sleep(0)
        claim_run(run)
        with (
            Served(old, url, run).client("a") as client,
            pytest.raises(CoordinatorAway, match="another coordinator"),
        ):
            await aside(client.commit, lease.token, a_bundle(tmp_path / "b", lease, "a"))
        with pytest.raises(CoordinatorStopped, match="another coordinator"):
            await waiting


async def not_asked(ledger: Ledger) -> None:
    """Stands in for the look between requests, which would find the claim before the upload."""


async def test_two_coordinators_alive_score_every_episode_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one takes an upload, stores it, and cannot acknowledge it; its worker then sends the
    bundle to the new one, which knows the lease."""
    run = tmp_path / "run"
    monkeypatch.setattr(Ledger, "look_for_claim", not_asked)
    async with (
        open_run(run, a_plan(1), SETTINGS, alone=False) as old,
        listening(old, SECRETS) as old_url,
    ):
        lease = await granted(old)
        bundle = a_bundle(tmp_path / "b", lease, "a")
        async with (
            open_run(run, a_plan(1), SETTINGS, alone=False) as new,
            listening(new, SECRETS) as new_url,
        ):
            with (
                Served(old, old_url, run).client("a") as client,
                pytest.raises(CoordinatorAway, match="another coordinator"),
            ):
                await aside(client.commit, lease.token, bundle)
            assert "another coordinator" in str(old.stopped)
            with Served(new, new_url, run).client("a") as client:
                assert await aside(client.commit, lease.token, bundle) == "committed"
            await new.seal()
        with pytest.raises(CoordinatorStopped):
            old.renew(lease.token)
    assert sorted(path.name for path in run.glob("episodes/*/*")) == [
        "attempt-1-c1",
        "attempt-1-c2",
    ]
    assert chain.read(run / chain.FOLDER).sealed


async def test_a_sealed_run_keeps_no_claim_of_its_readers(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for _ in range(2):
        async with open_run(run, a_plan(0), SETTINGS) as coordinator:
            await coordinator.seal()
    assert [path.name for path in (run / "claims").iterdir()] == ["000001"]


async def test_a_reader_of_a_sealed_run_that_is_killed_leaves_a_claim_that_verify_sets_apart(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    async with open_run(run, a_plan(0), SETTINGS) as coordinator:
        await coordinator.seal(documents_to_seal(run))
    claim_run(run)  # and then it was killed
    found = scan(run)
    assert found.documents == ["claims/000001", "lock"]
    assert found.outside == ["claims/000002"]
