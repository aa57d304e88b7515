"""A pulled run is the coordinator's own, byte by byte, also after a pull that was broken off."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TypeVar

import pytest

from orchestrator.coordinator.client import CoordinatorAway, CoordinatorClient
from orchestrator.coordinator.finished_run import FinishedRun
from orchestrator.coordinator.follow import AdminClient, JournalCopy
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening, reading
from orchestrator.coordinator.transitions import AttemptCommitted
from orchestrator.errors import EmufarmError, UsageError
from orchestrator.farm import pull as module
from orchestrator.farm.cluster.watching import require_same_journal
from orchestrator.farm.pull import WAIT_S, NoticeReader, PulledBroken, PullEnd, pull
from orchestrator.farm.run_events import Journaled, Notice, RunEvent, ignore
from orchestrator.files import file_sha256, tree
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan

EPISODES = 3
T = TypeVar("T")


def admin(url: str, away_s: float = 5.0) -> AdminClient:
    return AdminClient.at(url, SECRETS.admin, away_s)


async def attempt(url: str, folder: Path, number: int) -> None:
    device = f"slot-{number:02d}.1"
    secret = SECRETS.workers.secret(device)

    def play() -> None:
        with CoordinatorClient(url, secret, worker="w", away_s=0.0) as client:
            lease = client.lease(1)
            assert isinstance(lease, Lease)
            bundle = a_bundle(folder / f"b{number}", lease, device)
            assert client.commit(lease.token, bundle) == "committed"

    await asyncio.to_thread(play)


@asynccontextmanager
async def served(tmp_path: Path) -> AsyncIterator[tuple[str, Callable[[], Awaitable[None]]]]:
    """A run under way; its URL, and what seals it."""
    run = tmp_path / "run"
    async with (
        open_run(run, a_plan(EPISODES), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):

        async def seal() -> None:
            (run / "logs").mkdir()
            (run / "logs" / "a.log").write_text("printed\n")
            await coordinator.seal({"logs/a.log": file_sha256(run / "logs" / "a.log")})

        yield url, seal


def files(folder: Path) -> dict[str, str]:
    """All that the proof covers."""
    kept = ("journal", "episodes", "logs")
    return tree(folder, lambda name: name.split("/")[0] in kept)


async def sealed_run(tmp_path: Path) -> Path:
    async with served(tmp_path) as (url, seal):
        for number in range(EPISODES):
            await attempt(url, tmp_path, number)
        await seal()
    return tmp_path / "run"


async def test_bundles_come_as_they_are_committed(tmp_path: Path) -> None:
    copy, events = tmp_path / "copy", list[RunEvent]()
    async with served(tmp_path) as (url, seal):
        with admin(url) as client:
            pulling = asyncio.create_task(asyncio.to_thread(pull, client, copy, events.append))
            for number in range(EPISODES):
                await attempt(url, tmp_path, number)
                while len(list(copy.glob("episodes/*/attempt-*"))) <= number:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            await seal()
            assert await asyncio.wait_for(pulling, 60) is PullEnd.SEALED
    assert files(copy) == files(tmp_path / "run")
    commits = [one for one in events if isinstance(one, Journaled)]
    assert sum(isinstance(one.event, AttemptCommitted) for one in commits) == EPISODES


async def test_a_finished_run_is_pulled_from_its_folder_and_a_broken_pull_goes_on(
    tmp_path: Path,
) -> None:
    run, copy = await sealed_run(tmp_path), tmp_path / "copy"
    before = tree(run)
    finished = FinishedRun(run, a_plan(EPISODES))
    async with reading(finished, SECRETS) as url:
        with admin(url) as client:
            assert (await asyncio.to_thread(client.state))["decided"] == EPISODES
            assert await asyncio.to_thread(pull, client, copy, ignore) is PullEnd.SEALED
            assert files(copy) == files(run)
            shutil.rmtree(next(copy.glob("episodes/*/attempt-*")))
            (copy / "logs" / "a.log").write_text("half")
            segment = copy / "journal" / "000001.jsonl"
            segment.write_bytes(segment.read_bytes()[:-100])
            assert await asyncio.to_thread(pull, client, copy, ignore) is PullEnd.SEALED
    assert files(copy) == files(run)
    assert tree(run) == before


async def test_a_run_that_ended_early_is_pulled_as_far_as_it_went(tmp_path: Path) -> None:
    """With its logs, which no seal names; a link among them is not followed."""
    async with served(tmp_path) as (url, _):
        await attempt(url, tmp_path, 0)
    run, copy = tmp_path / "run", tmp_path / "copy"
    (run / "logs" / "deeper").mkdir(parents=True)
    (run / "logs" / "slot-00.1.pod.json").write_text("{}")
    (run / "logs" / "deeper" / "b.log").write_text("printed\n")
    (tmp_path / "outside").write_text("a secret")
    (run / "logs" / "link").symlink_to(tmp_path / "outside")
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client:
            assert await asyncio.to_thread(pull, client, copy, ignore) is PullEnd.ENDED
    (run / "logs" / "link").unlink()
    assert files(copy) == files(run)


async def test_a_coordinator_cannot_write_outside_of_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path) as (url, _):
        await attempt(url, tmp_path, 0)
    monkeypatch.setattr(AdminClient, "logs", lambda self: ["logs/../plan.json"])
    async with reading(FinishedRun(tmp_path / "run", a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, pytest.raises(PulledBroken, match="no log of a run"):
            await asyncio.to_thread(pull, client, tmp_path / "copy", ignore)


async def test_who_wants_no_more_than_there_is_now_has_not_all_of_a_run_that_goes_on(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"
    async with served(tmp_path) as (url, _):
        await attempt(url, tmp_path, 0)
        with admin(url) as client:
            end = await asyncio.to_thread(pull, client, copy, ignore, now=True)
    assert end is PullEnd.STOPPED
    assert len(list(copy.glob("episodes/*/attempt-*"))) == 1


async def test_who_asks_to_stop_is_heard_between_two_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a run that has ended; the next pull goes on."""
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    run, copy = await sealed_run(tmp_path), tmp_path / "copy"

    def come() -> int:
        return len(list(copy.glob("episodes/*/attempt-*")))

    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client:
            end = await asyncio.to_thread(pull, client, copy, ignore, lambda: come() > 0)
            assert end is PullEnd.STOPPED
            assert come() == 1
            assert await asyncio.to_thread(pull, client, copy, ignore) is PullEnd.SEALED
    assert files(copy) == files(run)


async def test_a_bundle_on_its_way_is_given_up_where_it_is_larger_than_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_LIMIT", 10)
    run, copy = await sealed_run(tmp_path), tmp_path / "copy"
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, pytest.raises(PulledBroken, match="larger than any bundle"):
            await asyncio.to_thread(pull, client, copy, ignore)
    assert not list(copy.glob("episodes/*/attempt-*"))


async def test_bundles_on_their_way_are_on_the_disk_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for temporary files may be small, and in memory."""
    run, copy = await sealed_run(tmp_path), tmp_path / "runs" / "copy"
    places: list[Path] = []

    def spool(dir: Path) -> IO[bytes]:
        places.append(dir)
        return tempfile.SpooledTemporaryFile()

    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, monkeypatch.context() as patched:
            patched.setattr("orchestrator.farm.pull.tempfile.TemporaryFile", spool)
            assert await asyncio.to_thread(pull, client, copy, ignore) is PullEnd.SEALED
    assert set(places) == {tmp_path / "runs"}


async def test_a_run_that_ends_between_two_questions_is_not_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator has left by the time that the notices are asked for once more."""
    answers = iter([False, True, True])
    monkeypatch.setattr(NoticeReader, "read", lambda self, client: next(answers))
    asked: list[int] = []

    def update(copy: JournalCopy, client: AdminClient, wait: int) -> list[RunEvent]:
        asked.append(wait)
        return []

    monkeypatch.setattr(JournalCopy, "update", update)
    monkeypatch.setattr(AdminClient, "logs", lambda self: [])
    with admin("http://127.0.0.1:9") as client:
        assert await asyncio.to_thread(pull, client, tmp_path / "copy", ignore) is PullEnd.ENDED
    assert asked == [WAIT_S, 0]


async def test_notices_are_reported_once_over_broken_connections(tmp_path: Path) -> None:
    told: list[RunEvent] = []
    notices = NoticeReader(told.append)
    run = await sealed_run(tmp_path)
    finished = FinishedRun(run, a_plan(EPISODES))
    finished.notices.add("one")
    async with reading(finished, SECRETS) as url:
        for line in ("two", "three"):
            with admin(url) as client:
                assert await asyncio.to_thread(notices.read, client)
            finished.notices.add(line)
    assert told == [Notice("one"), Notice("two")]


async def test_another_run_of_the_same_plan_is_not_mixed_with_what_was_pulled(
    tmp_path: Path,
) -> None:
    run, copy = await sealed_run(tmp_path / "one"), tmp_path / "copy"
    other = await sealed_run(tmp_path / "other")
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client:
            require_same_journal(client, copy)
            await asyncio.to_thread(pull, client, copy, ignore)
            await asyncio.to_thread(require_same_journal, client, copy)
    before = tree(copy)
    async with reading(FinishedRun(other, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, pytest.raises(UsageError, match="has another run"):
            await asyncio.to_thread(require_same_journal, client, copy)
    assert tree(copy) == before


async def test_a_bundle_that_is_not_the_journals_is_refused(tmp_path: Path) -> None:
    run, copy = await sealed_run(tmp_path), tmp_path / "copy"
    first, second = sorted(run.glob("episodes/*/attempt-*"))[:2]
    shutil.rmtree(first)
    shutil.copytree(second, first)
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, pytest.raises(PulledBroken, match="another bundle"):
            await asyncio.to_thread(pull, client, copy, ignore)
    assert not (copy / first.relative_to(run)).exists()


async def test_a_document_that_is_not_the_sealed_one_is_refused(tmp_path: Path) -> None:
    run, copy = await sealed_run(tmp_path), tmp_path / "copy"
    (run / "logs" / "a.log").write_text("other\n")
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client, pytest.raises(PulledBroken, match="another file"):
            await asyncio.to_thread(pull, client, copy, ignore)


async def test_a_coordinator_that_is_gone_is_said(tmp_path: Path) -> None:
    async with served(tmp_path) as (url, _):
        pass
    with admin(url, away_s=0.0) as client, pytest.raises(CoordinatorAway):
        await asyncio.to_thread(pull, client, tmp_path / "copy", ignore)


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../run/plan.json", "secrets/admin", "journal/000001.jsonl",
     "episodes", "logs", "logs/../../x", "link", "linked/passwd", "no\0name"],
)  # fmt: skip
async def test_only_documents_of_the_run_are_given_out(tmp_path: Path, name: str) -> None:
    run = await sealed_run(tmp_path)
    (run / "link").symlink_to("/etc/passwd")
    (run / "linked").symlink_to("/etc")
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with admin(url) as client:
            with pytest.raises(EmufarmError, match="refused"):
                await asyncio.to_thread(client.file, name)
            with (tmp_path / "x").open("wb") as target, pytest.raises(EmufarmError):
                await asyncio.to_thread(client.bundle, name, target)


async def test_a_finished_run_takes_no_work(tmp_path: Path) -> None:
    run = await sealed_run(tmp_path)
    secret = SECRETS.workers.secret("slot-00.1")
    async with reading(FinishedRun(run, a_plan(EPISODES)), SECRETS) as url:
        with (
            CoordinatorClient(url, secret, worker="w", away_s=0.0) as client,
            pytest.raises(CoordinatorAway),  # else it would throw away what it has sealed
        ):
            await asyncio.to_thread(client.lease, 0)
        with (
            AdminClient.at(url, secret, 0.0) as worker,
            pytest.raises(EmufarmError, match="missing or not"),
        ):
            await asyncio.to_thread(worker.state)
