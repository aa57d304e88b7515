"""The journal returns what was made durable, or reports where it was broken."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.chain import JournalBroken
from orchestrator.coordinator.journal import JournalUnwritable
from orchestrator.coordinator.transitions import (
    DeviceQuarantined,
    DeviceStarted,
    Event,
    RunSealed,
    SegmentOpened,
)
from tests.coordinator.runs import opened_journal


def said(number: int) -> Event:
    return DeviceQuarantined(device=f"d{number}", text="é\n")


async def write(folder: Path, *events: Event) -> None:
    """One coordinator's life."""
    journal = opened_journal(folder, now_ms=lambda: 1_700_000_000_000)
    await journal.append(events)
    await journal.close()


def events(folder: Path) -> list[Event]:
    return [
        line.event for line in chain.read(folder).lines if not isinstance(line.event, SegmentOpened)
    ]


def segments_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two segments; the second is the last."""
    folder = tmp_path / "run" / "journal"
    asyncio.run(write(folder, said(1), said(2)))
    asyncio.run(write(folder, said(3), said(4)))
    return folder


def test_segments_are_read_as_one(journal: Path) -> None:
    read = chain.read(journal)
    assert events(journal) == [said(number) for number in (1, 2, 3, 4)]
    assert [line.seq for line in read.lines] == list(range(1, 7))
    assert not read.sealed
    assert sorted(path.name for path in journal.iterdir()) == ["000001.jsonl", "000002.jsonl"]


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert chain.read(tmp_path).lines == ()


async def test_a_kill_at_any_byte_loses_nothing_before_the_last_whole_line(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truncated at every offset of the last segment, read, gone on with, and read again."""
    for sync in ("fsync", "fdatasync"):  # thousands of them, and no power is cut here
        monkeypatch.setattr(os, sync, lambda file: None)
    last = journal / "000002.jsonl"
    whole = last.read_bytes()
    first = [said(1), said(2)]
    for length in range(len(whole) + 1):
        last.write_bytes(whole[:length])
        kept = first + [said(3), said(4)][: max(0, whole[:length].count(b"\n") - 1)]
        assert events(journal) == kept
        await write(journal, said(5))
        assert events(journal) == [*kept, said(5)]
        segments = segments_of(journal)
        sealing = chain.read(journal).lines[-2].event
        assert isinstance(sealing, SegmentOpened)
        assert sealing.sealed is not None
        if b"\n" in whole[:length]:  # else the second was never opened, and the first is sealed
            assert sealing.sealed.cut == length - (whole[:length].rfind(b"\n") + 1)
        segments[-1].unlink()


def test_no_edit_passes_for_the_journal(journal: Path) -> None:
    """A flipped byte is found; at the very end it can only look like a torn line."""
    asyncio.run(write(journal, RunSealed(plan="p", decided=0)))
    written = chain.read(journal)
    chance = random.Random(4)
    for path in sorted(journal.iterdir()):
        data = path.read_bytes()
        for at in range(0, len(data), 3):
            edited = bytearray(data)
            edited[at] ^= chance.randrange(1, 256)
            path.write_bytes(edited)
            try:
                read = chain.read(journal)
            except JournalBroken:
                continue
            assert path.name == "000003.jsonl"
            assert not read.sealed
            assert read.lines == written.lines[: len(read.lines)]
        path.write_bytes(data)


def broken(folder: Path) -> JournalBroken:
    with pytest.raises(JournalBroken) as caught:
        chain.read(folder)
    return caught.value


def test_an_edited_line_is_named(journal: Path) -> None:
    path = journal / "000002.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"d3"', b'"d9"'))
    found = broken(journal)
    assert (found.file, found.line, found.rule) == (path, 2, "it was edited")
    assert f"{path}, line 2" in str(found)


@pytest.mark.parametrize("place", [b'"d1"', b'"d2"', b'"d3"', b'"d4"'])
def test_a_line_that_was_edited_is_never_handed_on(journal: Path, place: bytes) -> None:
    """Nor is one behind it; the last of a segment has no next line that would tell."""
    path = journal / ("000001.jsonl" if place < b'"d3"' else "000002.jsonl")
    path.write_bytes(path.read_bytes().replace(place, b'"d9"'))
    handed: list[chain.JournalLine] = []
    walk = chain.JournalReader(journal)
    with pytest.raises(JournalBroken):
        handed.extend(walk)
    devices = [line.event.device for line in handed if isinstance(line.event, DeviceQuarantined)]
    assert devices == [f"d{number}" for number in range(1, len(devices) + 1)]
    assert f'"d{len(devices) + 1}"'.encode() <= place
    with pytest.raises(AssertionError, match="the end is known"):
        _ = walk.end


def test_a_last_line_that_is_only_spelled_otherwise_was_edited(journal: Path) -> None:
    path = journal / "000002.jsonl"
    path.write_bytes(path.read_bytes()[:-1] + b" \n")
    assert (broken(journal).line, broken(journal).rule) == (3, "it was edited")


async def test_half_a_surrogate_pair_comes_back(tmp_path: Path) -> None:
    """A phone's text may hold one, and no UTF-8 does."""
    event = DeviceStarted(device="d", report_id="n", facts={"said": "\ud83d"})
    await write(tmp_path / "run" / "journal", event, said(1))
    assert events(tmp_path / "run" / "journal") == [event, said(1)]


def test_bytes_behind_the_last_line_are_counted(journal: Path) -> None:
    """In the last segment, and in one that was never opened."""
    assert chain.read(journal).torn == 0
    with (journal / "000002.jsonl").open("ab") as late:
        late.write(b"torn")
    assert chain.read(journal).torn == 4
    (journal / "000003.jsonl").write_bytes(b"torn too")
    assert chain.read(journal).torn == 12


def test_a_line_taken_out_is_found(journal: Path) -> None:
    path = journal / "000002.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert broken(journal).rule == "it does not follow the line before it"


def test_a_cut_in_a_sealed_segment_is_found(journal: Path) -> None:
    path = journal / "000001.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert "bytes were sealed" in broken(journal).rule


def test_a_missing_segment_is_found(journal: Path) -> None:
    (journal / "000001.jsonl").unlink()
    assert broken(journal).file == journal / "000001.jsonl"


def test_a_second_writers_late_bytes_do_not_count(journal: Path) -> None:
    with (journal / "000001.jsonl").open("ab") as late:
        late.write(b"what a paused coordinator still had in its buffers\n")
    assert events(journal) == [said(number) for number in (1, 2, 3, 4)]


async def test_torn_bytes_stay_where_they_are_and_never_count(journal: Path) -> None:
    path = journal / "000002.jsonl"
    torn = path.read_bytes() + b'{"half'
    path.write_bytes(torn)
    await write(journal, said(5))
    assert path.read_bytes() == torn
    assert events(journal) == [said(number) for number in (1, 2, 3, 4, 5)]


async def test_nothing_may_follow_the_line_that_seals_the_run(journal: Path) -> None:
    await write(journal, RunSealed(plan="p", decided=0))
    assert chain.read(journal).sealed
    await write(journal, said(6))
    assert broken(journal).rule == "a line follows the one that seals the run"


async def test_many_appends_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    real = os.fdatasync

    def counted(file: int) -> None:
        synced.append(file)
        real(file)

    monkeypatch.setattr(os, "fdatasync", counted)
    folder = tmp_path / "run" / "journal"
    journal = opened_journal(folder)
    await asyncio.gather(*(journal.append([said(number)]) for number in range(100)))
    await journal.close()
    assert events(folder) == [said(number) for number in range(100)]
    assert len(synced) < 10


async def test_a_caller_that_goes_away_takes_nobodys_sync_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "journal"
    journal = opened_journal(folder)
    first = asyncio.create_task(journal.append([said(1)]))
    second = asyncio.create_task(journal.append([said(2)]))
    await asyncio.sleep(0)
    first.cancel()
    await second
    await journal.close()
    assert events(folder) == [said(1), said(2)]


async def test_a_full_disk_is_said_and_nothing_more_is_promised(tmp_path: Path) -> None:
    """A limit on the file's size stands in for the disk's."""
    folder = tmp_path / "run" / "journal"
    journal = opened_journal(folder)
    await journal.append([said(1)])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + 100, limits[1]))
    try:
        with pytest.raises(JournalUnwritable, match=r"cannot be written .*; make room there"):
            await journal.append([said(2)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    with pytest.raises(JournalUnwritable):
        await journal.append([said(3)])
    await journal.close()
    await write(folder, said(4))
    assert events(folder) == [said(1), said(4)]
