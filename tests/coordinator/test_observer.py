"""An observer gets exactly the journal: replayed first, then each line once it is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.finished_run import FinishedRun
from orchestrator.coordinator.journal import Journal
from orchestrator.coordinator.ledger import CoordinatorStopped
from orchestrator.coordinator.messages import DeviceStartReport, Lease, LeaseRequest
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import Event, SegmentOpened
from orchestrator.events.canonical import canonical
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan


class Seen:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.commits: list[float] = []
        self.syncs: list[float] = []

    def journaled(self, event: Event) -> None:
        self.events.append(event)

    def committed(self, seconds: float) -> None:
        self.commits.append(seconds)

    def synced(self, seconds: float) -> None:
        self.syncs.append(seconds)


def journal(run: Path) -> list[str]:
    return told(line.event for line in chain.read(run / chain.FOLDER).lines)


def told(events: Iterable[Event]) -> list[str]:
    return [canonical(event.model_dump(mode="json")).decode() for event in events]


async def work(coordinator: Coordinator, run: Path, bundle: Path, device: str) -> None:
    async with listening(coordinator, SECRETS) as url:
        with Served(coordinator, url, run).client(device) as client:
            await aside(client.device_started, {}, 2.5)
            lease = await aside(client.lease, 0)
            assert isinstance(lease, Lease)
            await aside(client.commit, lease.token, a_bundle(bundle, lease, device))


async def test_a_resumed_run_s_observer_starts_with_its_journal(tmp_path: Path) -> None:
    """A subscriber, which shows progress, gets nothing twice."""
    run, plan = tmp_path / "run", a_plan(2)
    first, second, shown = Seen(), Seen(), Seen()
    async with open_run(run, plan, SETTINGS, observer=first) as coordinator:
        await work(coordinator, run, tmp_path / "one", "a")
        assert told(first.events) == journal(run)
    async with open_run(run, plan, SETTINGS, observer=second) as coordinator:
        assert told(second.events)[: len(first.events)] == told(first.events)
        known = len(second.events)
        coordinator.subscribe(shown.journaled)
        await work(coordinator, run, tmp_path / "two", "b")
        await coordinator.seal()
    assert told(second.events) == journal(run)
    assert shown.events == second.events[known:]
    assert [len(each.commits) for each in (first, second)] == [1, 1]
    assert all(0 <= seconds < 60 for seconds in (*second.commits, *second.syncs))
    assert sum(isinstance(event, SegmentOpened) for event in second.events) == 2
    finished = Seen()
    FinishedRun(run, plan, observer=finished)
    assert told(finished.events) == journal(run)


async def test_what_is_not_on_disk_is_not_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what was counted is in the journal of whoever resumes the run, however this one ends."""
    run, plan, seen = tmp_path / "run", a_plan(1), Seen()
    async with open_run(run, plan, SETTINGS, observer=seen) as coordinator:
        known, syncs = list(seen.events), len(seen.syncs)

        def full(self: Journal, file: int, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Journal, "_write", full)
        with pytest.raises(CoordinatorStopped):
            await coordinator.device("a", DeviceStartReport(report_id="r", event="started"))
        assert coordinator.state.devices["a"].starts == 1
        assert (seen.events, len(seen.syncs)) == (known, syncs)
    assert journal(run) == told(known)


async def test_an_observer_sees_every_event_of_a_group_that_was_synced_together(
    tmp_path: Path,
) -> None:
    run, seen = tmp_path / "run", Seen()
    async with open_run(run, a_plan(30), SETTINGS, observer=seen) as coordinator:
        await asyncio.gather(*(ask(coordinator, f"device-{number}") for number in range(30)))
        assert told(seen.events) == journal(run)
        assert len(seen.syncs) < len(seen.events)


async def ask(coordinator: Coordinator, device: str) -> None:
    async def never() -> bool:
        return False

    answer = await coordinator.lease(device, LeaseRequest(worker="w", request_id="r"), never)
    assert isinstance(answer, Lease)
