"""A run that is followed from elsewhere: its journal arrives whole, wherever it broke off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from orchestrator.coordinator import admin_api, chain
from orchestrator.coordinator.client import CoordinatorAway
from orchestrator.coordinator.follow import AdminClient, JournalCopy
from orchestrator.coordinator.messages import DeviceStartReport
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import DeviceStarted, Event
from orchestrator.errors import EmufarmError
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_plan


def follower(url: str) -> AdminClient:
    return AdminClient.at(url, SECRETS.admin, away_s=0.0)


async def start(served: Served, number: int) -> None:
    report = DeviceStartReport(report_id=f"{number}", event="started", facts={"n": "x" * 1000})
    await served.coordinator.device(f"slot-{number:02d}.1", report)


def journal(run: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((run / chain.FOLDER).glob("*.jsonl"))]


def copied(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.jsonl"))]


def names(events: list[Event]) -> list[str]:
    return [event.device for event in events if isinstance(event, DeviceStarted)]


async def test_the_copy_is_the_journal_and_goes_on_where_it_ended(
    served: Served, tmp_path: Path
) -> None:
    with follower(served.url) as client:
        await start(served, 1)
        events = await aside(JournalCopy(tmp_path / "copy").update, client, 0)
        assert [event.event for event in events][:2] == ["segment_opened", "run_opened"]
        assert names(events) == ["slot-01.1"]
        with (tmp_path / "copy" / "000001.jsonl").open("ab") as file:
            file.write(b'{"half a line of a copy that was interrupted')
        await start(served, 2)
        copy = JournalCopy(tmp_path / "copy")
        assert names(await aside(copy.update, client, 0)) == ["slot-02.1"]
        assert await aside(copy.update, client, 0) == []
    assert copied(tmp_path / "copy") == journal(served.run)


async def test_a_journal_longer_than_an_answer_comes_in_whole_lines(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_api, "PIECE", 3000)
    for number in range(10):
        await start(served, number)
    with follower(served.url) as client:
        events = await aside(JournalCopy(tmp_path / "copy").update, client, 0)
    assert names(events) == [f"slot-{number:02d}.1" for number in range(10)]
    assert copied(tmp_path / "copy") == journal(served.run)


async def test_who_waits_is_told_at_the_next_line(served: Served, tmp_path: Path) -> None:
    copy = JournalCopy(tmp_path / "copy")
    with follower(served.url) as client:
        await aside(copy.update, client, 0)
        waiting = asyncio.create_task(aside(copy.update, client, 60))
        await asyncio.sleep(0)
        await start(served, 1)
        assert names(await asyncio.wait_for(waiting, 30)) == ["slot-01.1"]


async def test_a_copy_follows_from_one_coordinator_to_the_next(tmp_path: Path) -> None:
    run, copy, left = tmp_path / "run", JournalCopy(tmp_path / "copy"), ""
    for number in (1, 2):
        async with (
            open_run(run, a_plan(1), SETTINGS) as coordinator,
            listening(coordinator, SECRETS) as url,
        ):
            left = url
            await start(Served(coordinator, url, run), number)
            with follower(url) as client:
                assert names(await aside(copy.update, client, 0)) == [f"slot-{number:02d}.1"]
                assert (await aside(client.state))["total"] == 1
    with follower(left) as client, pytest.raises(CoordinatorAway, match="does not answer"):
        await aside(client.state)
    assert copied(tmp_path / "copy") == journal(run)


async def test_another_runs_copy_is_not_added_to(served: Served, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "000001.jsonl").write_bytes(b"x" * 9999 + b"\n")
    with follower(served.url) as client, pytest.raises(EmufarmError, match="another run's"):
        await aside(JournalCopy(tmp_path / "copy").update, client, 0)


async def test_a_bad_question_is_refused(served: Served) -> None:
    async with served.http(SECRETS.admin) as http:
        for path in ("/v1/journal?after=-1", "/v1/journal?wait=x", "/v1/journal/1?from=1e9"):
            assert (await http.get(path)).status_code == 400
        assert (await http.get("/v1/journal/7")).status_code == 404
        assert (await http.get("/v1/journal/1?from=99999999")).content == b""
    async with served.http(SECRETS.workers.secret("a")) as http:
        for path in ("/v1/journal", "/v1/journal/1"):
            assert (await http.get(path)).status_code == 401
