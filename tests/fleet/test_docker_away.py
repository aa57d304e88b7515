"""An engine that does not answer, for a short time or for too long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.docker.engine import DEFAULT_HOST, EngineAbsent, connect
from orchestrator.fleet.docker.owner import WORKER
from orchestrator.fleet.docker.reaper import reap
from orchestrator.outcome import Cause
from tests.fleet.contract import ended, states, until
from tests.fleet.docker_door import Door
from tests.fleet.docker_trial import DockerTrial, docker_trial

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
def trial(door: Door, tmp_path: Path) -> Iterator[DockerTrial]:
    engine = connect({"DOCKER_HOST": door.host})
    with docker_trial(tmp_path / "a-run", engine) as trial:
        yield trial
    engine.close()


def test_an_engine_that_is_not_there_is_named_with_what_starts_one(tmp_path: Path) -> None:
    with pytest.raises(EngineAbsent, match=r"no-engine.*No such file.*systemctl start docker"):
        connect({"DOCKER_HOST": f"unix://{tmp_path}/no-engine"})


async def test_pairs_live_on_while_the_engine_is_away(trial: DockerTrial, door: Door) -> None:
    """And what ended meanwhile is seen once it is back."""
    async with trial.fleet("wait 0; exit 0") as fleet:
        await trial.working("slot-00.1")
        await until(lambda: states(fleet) == ["running"])  # it has its engine's answer
        worker = trial.container("slot-00", WORKER)
        direct = connect()
        door.close()
        await asyncio.sleep(1.2)  # some looks of the fleet find nobody
        assert states(fleet) == ["running"]
        direct.ask("kill a container", lambda client: client.kill(worker.id))
        door.open()
        fact = await trial.fact()
        assert (fact.kind, fact.exit_code) == ("worker_lost", 137)
        await ended(fleet)
        direct.close()


async def test_an_engine_that_stays_away_ends_the_fleet(trial: DockerTrial, door: Door) -> None:
    """That is reported; what stays on the engine is notified, and found by the next who looks."""
    trial.away_s = 1.0
    async with trial.fleet("wait 0", devices=2) as fleet:
        await trial.working("slot-00.1", "slot-01.1")
        await until(lambda: states(fleet) == ["running", "running"])
        door.close()
        await ended(fleet)
        assert states(fleet) == ["given_up", "given_up"]
        facts = [await trial.fact() for _ in range(4)]
    assert sorted(fact.kind for fact in facts) == ["device_lost"] * 2 + ["slot_given_up"] * 2
    assert {fact.cause for fact in facts} == {Cause.ENGINE_AWAY}
    assert all("the engine did not answer for" in fact.text for fact in facts)
    assert any("`emufarm clean` removes it" in line for line in trial.notices)
    door.open()
    assert len(trial.left()) >= 6  # four containers, a network, a volume
    trial.release()
    assert trial.owner.run in reap(trial.engine, trial.notices.append).removed
    trial.hold()


async def test_a_pair_that_could_not_be_made_is_made_once_the_engine_is_back(
    trial: DockerTrial, door: Door
) -> None:
    async with trial.resources() as resources:
        fleet = resources.fleet(trial.order("exit 0", 1, 3), trial.facts.put_nowait)
        door.close()
        async with fleet:
            fact = await trial.fact()
            door.open()
            await ended(fleet)
            assert states(fleet) == ["finished"]
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.ENGINE_AWAY)
    assert "does not answer" in fact.text
