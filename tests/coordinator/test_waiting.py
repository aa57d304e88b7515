"""A request that waits for a lease is decided again only where its answer may be another one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from orchestrator.coordinator import schedule
from orchestrator.coordinator.messages import Lease, NothingToLease, RunFinished
from tests.coordinator.conftest import Served, aside
from tests.coordinator.runs import a_bundle


async def test_commits_of_others_do_not_wake_it_and_the_end_of_the_run_does(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[str] = []
    waits = asyncio.Event()
    grant = schedule.grant

    def counted(state: object, worker: str, device: str, *rest: object) -> object:
        decided.append(device)
        if device == "slot-09.1":
            waits.set()
        return grant(state, worker, device, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(schedule, "grant", counted)
    devices = [f"slot-0{number}.1" for number in range(3)]
    leases: dict[str, Lease] = {}
    for device in devices:
        with served.client(device) as client:
            lease = await aside(client.lease)
        assert isinstance(lease, Lease)
        leases[device] = lease
    with served.client("slot-09.1") as idle:
        waiting = asyncio.create_task(aside(idle.lease))
        await asyncio.wait_for(waits.wait(), 30)
        for device in devices:
            before = decided.count("slot-09.1")
            bundle = a_bundle(tmp_path / device, leases[device], device)
            with served.client(device) as client:
                await aside(client.commit, leases[device].token, bundle)
            await asyncio.sleep(0.05)  # for whoever would be woken
            if device != devices[-1]:
                assert decided.count("slot-09.1") == before
        assert isinstance(await waiting, RunFinished)


async def test_nothing_is_leased_while_the_volume_is_full_and_what_is_leased_may_end(
    served: Served, tmp_path: Path
) -> None:
    paused = served.coordinator.paused
    with served.client("slot-00.1") as client:
        lease = await aside(client.lease, 1)
        assert isinstance(lease, Lease)
        paused.set()
        bundle = a_bundle(tmp_path, lease, "slot-00.1")
        await aside(client.commit, lease.token, bundle)
        assert isinstance(await aside(client.lease, 1), NothingToLease)
        paused.clear()
        assert isinstance(await aside(client.lease, 1), Lease)
