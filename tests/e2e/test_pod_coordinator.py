"""What a coordinator says in its FarmRun where no coordinator could go on, on a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from orchestrator.coordinator import chain
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.plan.store import FILE as PLAN
from orchestrator.plan.store import write_plan
from tests.coordinator.runs import a_plan
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.pods_by_hand import FARM_RUNS, NAMESPACE, PodsByHand, pods_by_hand
from tests.e2e.test_manifests import farm
from tests.farm.test_coordinate import a_coordinator
from tests.fleet.contract import states, until
from tests.ports import even_port

__all__ = ["farm"]

pytestmark = pytest.mark.kubernetes


@pytest_asyncio.fixture
async def hand(farm: Cluster, tmp_path: Path) -> AsyncIterator[PodsByHand]:
    async with pods_by_hand(farm, tmp_path) as made:
        yield made


async def coordinated(hand: PodsByHand, place: Path, *, serve_only: bool = True) -> Json:
    """The status of the run, once its coordinator has left."""
    access = replace(hand.access, namespace=NAMESPACE)
    coordinator = a_coordinator(place, even_port(), access, run=hand.run, serve_only=serve_only)
    await asyncio.wait_for(coordinator.run(asyncio.Event()), 60)
    found = await hand.api.get(FARM_RUNS, hand.run)
    assert found is not None
    status: Json = found["status"]
    return status


def failed(status: Json) -> Json:
    (condition,) = (one for one in status["conditions"] if one["type"] == "Failed")
    return dict(condition)


async def test_a_run_whose_journal_is_broken_has_failed_with_the_sentence(
    hand: PodsByHand, tmp_path: Path
) -> None:
    """And it keeps no devices, as nobody will ever use them."""
    async with hand.fleet() as fleet:
        await hand.made("slot-00.1")
        await until(lambda: states(fleet) == ["starting"])
        await fleet.leave()
    folder = tmp_path / hand.run
    (folder / chain.FOLDER).mkdir(parents=True)
    (folder / chain.FOLDER / "000001.jsonl").write_text('{"not": "a journal"}\n')
    write_plan(folder / PLAN, a_plan())
    status = await coordinated(hand, tmp_path)
    assert status["phase"] == "Failed"
    assert "the journal is broken at" in status["message"]
    condition = failed(status)
    assert (condition["status"], condition["reason"]) == ("True", "Unreadable")
    assert condition["observedGeneration"] == 1
    assert await hand.pods() == []


async def test_a_run_whose_documents_are_another_runs_has_failed_with_the_sentence(
    hand: PodsByHand, tmp_path: Path
) -> None:
    (tmp_path / hand.run).mkdir()
    write_plan(tmp_path / hand.run / PLAN, a_plan())
    status = await coordinated(hand, tmp_path, serve_only=False)
    assert status["phase"] == "Failed"
    assert "its FarmRun names 0000" in status["message"]


async def test_a_volume_without_a_run_is_told_by_whoever_should_serve_it(
    hand: PodsByHand, tmp_path: Path
) -> None:
    status = await coordinated(hand, tmp_path)
    assert (status["phase"], failed(status)["reason"]) == ("Failed", "Unreadable")
    assert "has no run to serve" in status["message"]
