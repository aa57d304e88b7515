"""Objects of a killed run are removed from the engine; its evidence and other runs are kept."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.docker import containers, networks
from orchestrator.fleet.docker.engine import Engine
from orchestrator.fleet.docker.owner import owner
from orchestrator.fleet.docker.reaper import clear, reap
from orchestrator.fleet.docker.salvage import waiting
from tests.fleet.docker_trial import DockerTrial
from tests.programs import started

pytestmark = pytest.mark.docker


@pytest.fixture
def runs(engine: Engine, tmp_path: Path) -> Iterator[Callable[[str], DockerTrial]]:
    made: list[DockerTrial] = []

    def make(name: str) -> DockerTrial:
        made.append(DockerTrial(tmp_path / name, engine))
        made[-1].run.mkdir()
        return made[-1]

    yield make
    for run in made:
        clear(engine, run.owner, print)


def killed(run: DockerTrial, script: str) -> None:
    """A fleet of one pair, its command line killed with -9 once its worker did its deed."""
    farm = (sys.executable, "-m", "tests.fleet.docker_trial", str(run.run), script)
    with started(*farm) as program:
        assert program.first_line() == "up"


def end(run: DockerTrial) -> None:
    """As workers do whose coordinator is gone."""
    for one in containers.find(run.engine, run.owner.label):
        containers.stop(run.engine, one.id, 1)


def reaped(run: DockerTrial) -> bool:
    return run.owner.run in reap(run.engine, run.notices.append).removed


def test_a_killed_run_leaves_its_containers_and_the_reaper_removes_them(
    runs: Callable[[str], DockerTrial],
) -> None:
    run = runs("killed")
    killed(run, "wait 0")
    assert len(run.left()) == 5  # two containers, a network, its volume and the device's own
    assert reaped(run)
    assert run.left() == []
    assert any(run.owner.run in line for line in run.notices)


def test_what_a_killed_run_had_sealed_is_brought_to_its_folder(
    runs: Callable[[str], DockerTrial],
) -> None:
    """And nothing else of its volume is."""
    run = runs("sealed")
    killed(run, "seal 7")
    assert reaped(run)
    assert run.left() == []
    [slot] = run.owner.staging.iterdir()
    assert slot.name.endswith(".slot-00")
    assert waiting(slot)
    assert (slot / "sealed-1" / "token").read_text() == "a-lease"
    assert (slot / "sealed-1" / "bundle" / "MANIFEST.json").exists()
    assert not (slot / "sent-1").exists()


def test_a_living_run_is_never_touched(runs: Callable[[str], DockerTrial]) -> None:
    """Not even by another one's start and end."""
    living, dead = runs("living"), runs("dead")
    killed(dead, "wait 0")

    async def at_once() -> None:
        async with living.fleet("wait 0"):
            await living.working("slot-00.1")
            before = sorted(living.left())
            other = runs("other")
            other.hold()
            async with other.fleet("wait 0") as fleet:
                await other.working("slot-00.1")
                assert dead.left() == []  # the next run's start removes it
            assert [slot.state for slot in fleet.slots] == ["stopped"]
            assert other.left() == []
            other.release()
            assert living.owner.run in reap(living.engine, print).alive
            assert sorted(living.left()) == before
            assert living.output("slot-00").count("at work") == 1

    living.hold()
    asyncio.run(at_once())
    living.release()
    assert living.left() == []


def test_a_run_is_gone_on_with_where_it_was_killed(runs: Callable[[str], DockerTrial]) -> None:
    """Its own start brings home what is sealed before it begins anew."""
    run = runs("resumed")
    killed(run, "seal 7")
    run.work = run.work.with_name("next")
    run.hold()

    async def resumed() -> None:
        async with run.fleet("exit 0") as fleet:
            assert len(list(run.owner.staging.iterdir())) == 1
            await asyncio.wait_for(fleet.ended(), 60)
            assert [slot.state for slot in fleet.slots] == ["finished"]

    asyncio.run(resumed())
    run.release()
    assert run.left() == []


def test_a_run_whose_folder_is_gone_is_dead(runs: Callable[[str], DockerTrial]) -> None:
    """Its evidence has no place to go to; that is said."""
    run = runs("removed")
    killed(run, "seal 7")
    shutil.rmtree(run.run)
    end(run)
    assert reaped(run)
    assert run.left() == []
    assert any("is gone" in line for line in run.notices)


def test_a_run_whose_folder_is_elsewhere_is_left_alone_while_its_workers_work(
    runs: Callable[[str], DockerTrial],
) -> None:
    """Two machines, or two containers, may share an engine and see other files."""
    run = runs("elsewhere")
    killed(run, "wait 0")
    shutil.rmtree(run.run)
    before = sorted(run.left())
    found = reap(run.engine, run.notices.append)
    assert run.owner.run in found.left
    assert sorted(run.left()) == before
    assert any("run from elsewhere" in line for line in run.notices)
    end(run)
    assert reaped(run)


def test_a_run_of_which_nobody_can_tell_is_left_alone(
    runs: Callable[[str], DockerTrial],
) -> None:
    run = runs("odd")
    (run.run / "lock").mkdir()  # no file that could be held
    networks.make_network(run.engine, run.owner.name, run.owner.labels)
    found = reap(run.engine, run.notices.append)
    assert run.owner.run in found.left
    assert run.left() == [run.owner.name]
    assert any(run.owner.run in line and "left alone" in line for line in run.notices)


def test_what_is_not_ours_is_not_seen(engine: Engine) -> None:
    """A label that names no lock file is not one of ours."""
    volume = networks.make_volume(engine, "not-emufarms", {"emufarm.run": "somebody"})
    try:
        assert "somebody" not in reap(engine, print).removed
        assert [one.name for one in networks.volumes(engine, "emufarm.run=somebody")]
    finally:
        networks.remove_volume(engine, volume)


def test_two_runs_of_one_name_in_two_places_are_two(tmp_path: Path) -> None:
    one, other = owner(tmp_path / "a" / "run" / "lock"), owner(tmp_path / "b" / "run" / "lock")
    assert one.run != other.run
    assert one.name != other.name


def test_a_run_that_is_reached_by_a_link_is_the_same(tmp_path: Path) -> None:
    """Else its resume would not find what it had sealed."""
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    assert owner(tmp_path / "link" / "lock") == owner(tmp_path / "run" / "lock")
