"""An engine that does not answer: for a while, or for too long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.docker.engine import DEFAULT_HOST, EngineAbsent, connect
from orchestrator.fleet.docker.fleet import DockerFleet
from orchestrator.fleet.docker.reaper import reap
from tests.fleet.docker_door import Door
from tests.fleet.docker_farm import Run, ended, kill

pytestmark = [
    pytest.mark.docker,
    # The SDK leaves a socket that could not connect to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    door = Door(tmp_path / "engine.sock", os.environ.get("DOCKER_HOST") or DEFAULT_HOST)
    door.open()
    yield door
    door.close()


@pytest.fixture
def run(door: Door, tmp_path: Path) -> Iterator[Run]:
    engine = connect({"DOCKER_HOST": door.host})
    run = Run(tmp_path / "a-run", engine)
    run.hold()
    yield run
    run.let_go()
    assert run.left() == []
    engine.close()


def test_an_engine_that_is_not_there_is_named_with_what_starts_one(tmp_path: Path) -> None:
    with pytest.raises(EngineAbsent, match=r"no-engine.*No such file.*systemctl start docker"):
        connect({"DOCKER_HOST": f"unix://{tmp_path}/no-engine"})


async def test_pairs_live_on_while_the_engine_is_away(run: Run, door: Door) -> None:
    """And what ended meanwhile is seen once it is back."""
    run.workers = lambda device, staging: ("wait", "0") if device.endswith(".1") else ("exit", "0")
    async with run.fleet() as fleet:
        worker, _ = await run.at_work()
        direct = connect()
        door.close()
        await asyncio.sleep(1.2)  # some looks of the fleet find nobody
        assert fleet.slots[0].state == "running"
        kill(direct, worker)
        door.open()
        fact = await run.fact()
        assert (fact.kind, fact.exit_code) == ("worker_lost", 137)
        await ended(fleet)
        direct.close()


async def test_an_engine_that_stays_away_ends_the_fleet(run: Run, door: Door) -> None:
    """That is told; what stays on the engine is said, and found by the next who looks."""
    run.away_s = 1.0
    async with run.fleet(2) as fleet:
        await run.at_work("slot-00")
        await run.at_work("slot-01")
        door.close()
        await ended(fleet)
        assert fleet.given_up
        facts = [await run.fact() for _ in range(4)]
    assert sorted(fact.kind for fact in facts) == ["device_lost"] * 2 + ["slot_given_up"] * 2
    assert all("the engine did not answer for" in fact.text for fact in facts)
    assert any("`emufarm clean` removes it" in line for line in run.said)
    door.open()
    assert len(run.left()) >= 6  # four containers, a network, a volume
    run.let_go()
    assert run.owner.run in reap(run.engine, run.said.append).removed
    run.hold()


async def test_a_pair_that_could_not_be_made_is_made_once_the_engine_is_back(
    run: Run, door: Door
) -> None:
    run.workers = lambda device, staging: ("exit", "0")
    async with run.ground() as ground:
        fleet = DockerFleet(1, run.terms(ground), run.facts.put_nowait)
        door.close()
        async with fleet:
            fact = await run.fact()
            door.open()
            await ended(fleet)
            assert fleet.slots[0].state == "finished"
    assert fact.kind == "device_not_started"
    assert "does not answer" in fact.text
