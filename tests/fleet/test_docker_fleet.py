"""Pairs of containers on a real engine: what becomes of them, what is told of it, what stays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.fleet.docker import containers
from orchestrator.fleet.docker.engine import Engine, connect
from orchestrator.fleet.docker.fleet import DockerFleet
from tests.fleet.docker_farm import Run, ended, kill

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    found = connect()
    yield found
    found.close()


@pytest.fixture
def run(engine: Engine, tmp_path: Path) -> Iterator[Run]:
    """Whatever a test does, nothing of it may be on the engine afterwards."""
    run = Run(tmp_path / "a-run", engine)
    run.hold()
    yield run
    run.let_go()
    assert run.left() == []


async def test_a_worker_that_leaves_with_0_ends_its_slot(run: Run) -> None:
    run.workers = lambda device, staging: ("exit", "0")
    async with run.fleet(2) as fleet:
        await ended(fleet)
        assert [slot.state for slot in fleet.slots] == ["finished", "finished"]
    assert run.facts.empty()
    assert run.said == []


async def test_a_worker_and_its_device_share_one_loopback(run: Run) -> None:
    run.workers = lambda device, staging: ("ask", "127.0.0.1", "5600", "0")
    async with run.fleet() as fleet:
        await ended(fleet)
    assert "the phone is here" in run.log()


async def test_a_worker_reaches_this_machine_at_the_gateway(run: Run) -> None:
    async with run.ground() as ground, asyncio.timeout(60):
        heard = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"the coordinator is here\n")
            await writer.drain()
            writer.close()
            heard.set()

        server = await asyncio.start_server(answer, ground.gateway, 0)
        port = server.sockets[0].getsockname()[1]
        run.workers = lambda device, staging: ("ask", ground.gateway, str(port), "0")
        terms = run.terms(ground)
        async with DockerFleet(1, terms, run.facts.put_nowait) as fleet:
            await ended(fleet)
        server.close()
        assert heard.is_set()


async def test_a_killed_worker_takes_its_device_along(run: Run) -> None:
    """It is told with its code, and another pair takes the place."""
    deeds = iter((("wait", "0"), ("exit", "0")))
    run.workers = lambda device, staging: next(deeds)
    async with run.fleet() as fleet:
        worker, _ = await run.at_work()
        await asyncio.to_thread(kill, run.engine, worker)
        fact = await run.fact()
        await ended(fleet)
        assert fleet.slots[0].device == "slot-00.2"
    assert (fact.kind, fact.device, fact.exit_code) == ("worker_lost", "slot-00.1", 137)
    assert "the worker's container ended with exit code 137" in fact.text
    assert run.facts.empty()


async def test_a_worker_that_crashes_at_once_is_told_with_its_code(run: Run) -> None:
    """Though there was no namespace left for its device to join."""
    deeds = iter((("exit", "7"), ("exit", "0")))
    run.workers = lambda device, staging: next(deeds)
    async with run.fleet() as fleet:
        await ended(fleet)
    fact = await run.fact()
    assert (fact.kind, fact.exit_code) == ("worker_lost", 7)


async def test_a_killed_device_is_told_once_its_worker_has_left(run: Run) -> None:
    deeds = iter((("wait", "3"), ("exit", "0")))
    run.workers = lambda device, staging: next(deeds)
    async with run.fleet() as fleet:
        _, device = await run.at_work()
        await asyncio.to_thread(kill, run.engine, device)
        fact = await run.fact()
        await ended(fleet)
    assert (fact.kind, fact.device, fact.exit_code) == ("device_lost", "slot-00.1", 137)
    assert "the device's container ended with exit code 137" in fact.text
    assert "given back" in run.log()


async def test_a_device_that_takes_too_much_memory_is_told_so(run: Run) -> None:
    deeds = iter((("hungry",), ("phone",)))
    run.devices = lambda number: next(deeds)
    run.workers = lambda device, staging: ("wait", "0") if device.endswith(".1") else ("exit", "0")
    async with run.fleet() as fleet:
        fact = await run.fact()
        await ended(fleet)
    assert (fact.kind, fact.exit_code) == ("device_lost", 137)
    assert "container OOM-killed: the device needed more than its 64 MB" in fact.text


async def test_a_removed_container_is_told_so(run: Run) -> None:
    run.workers = lambda device, staging: ("wait", "0") if device.endswith(".1") else ("exit", "0")
    async with run.fleet() as fleet:
        worker, _ = await run.at_work()
        await asyncio.to_thread(containers.remove, run.engine, worker.id)
        fact = await run.fact()
        await ended(fleet)
    assert (fact.kind, fact.exit_code) == ("worker_lost", None)
    assert "somebody removed it" in fact.text


async def test_a_device_that_never_ran_is_told_with_its_reason(run: Run) -> None:
    """Each start by itself, and at last that the slot is given up."""
    run.devices = lambda number: ("broken", "1")
    run.starts = 2
    async with run.fleet() as fleet:
        await ended(fleet)
        assert fleet.given_up
    facts = [await run.fact() for _ in range(3)]
    assert [fact.kind for fact in facts] == ["device_not_started"] * 2 + ["slot_given_up"]
    assert [fact.device for fact in facts[:2]] == ["slot-00.1", "slot-00.2"]
    assert all("/dev/kvm is not found" in fact.text for fact in facts)
    assert facts[0].exit_code == 1


async def test_a_device_that_its_worker_finds_unusable_is_replaced(run: Run) -> None:
    deeds = iter((("ask", "127.0.0.1", "5600", "3"), ("exit", "0")))
    run.workers = lambda device, staging: next(deeds)
    async with run.fleet() as fleet:
        await ended(fleet)
    fact = await run.fact()
    assert (fact.kind, fact.device, fact.exit_code) == ("device_lost", "slot-00.1", None)
    assert "its worker found it unusable" in fact.text


async def test_an_image_that_is_not_there_is_told_so(run: Run) -> None:
    run.starts = 1
    async with run.ground() as ground:
        terms = run.terms(ground)
        terms = replace(terms, device=replace(terms.device, image="emufarm-no-such:1"))
        async with DockerFleet(1, terms, run.facts.put_nowait) as fleet:
            await ended(fleet)
            assert fleet.given_up
    fact = await run.fact()
    assert fact.kind == "device_not_started"
    assert "No such image" in fact.text


async def test_a_stopped_fleet_gives_its_leases_back_and_leaves_nothing(run: Run) -> None:
    async with run.fleet(2) as fleet:
        await run.at_work("slot-00")
        await run.at_work("slot-01")
    assert [slot.state for slot in fleet.slots] == ["stopped", "stopped"]
    assert "given back" in run.log("slot-00")
    assert "given back" in run.log("slot-01")
    assert run.left() == []


async def test_a_fleet_may_be_stopped_while_it_starts(run: Run) -> None:
    async with run.fleet(2) as fleet:
        await asyncio.sleep(0)
    assert [slot.state for slot in fleet.slots] == ["stopped", "stopped"]
    assert run.left() == []


async def test_containers_are_shut_in(run: Run) -> None:
    """As the engine itself tells it, and as the container finds it."""
    run.workers = lambda device, staging: ("wait", "0")
    async with run.fleet():
        for one in await run.at_work():
            told = run.engine.ask("look", partial(_inspected, one.id))
            host = told["HostConfig"]
            assert host["CapDrop"] == ["ALL"]
            assert host["SecurityOpt"] == ["no-new-privileges"]
            assert host["ReadonlyRootfs"]
            assert not host["Privileged"]
            assert (host["Memory"], host["MemorySwap"]) == (64 << 20, 64 << 20)
            assert (host["PidsLimit"], host["NanoCpus"]) == (32, 1_000_000_000)
            assert "docker.sock" not in json.dumps(told)
            assert host["Devices"] in (None, [])
    run.workers = lambda device, staging: ("write", "/etc/mine", "0")
    async with run.fleet() as fleet:
        await ended(fleet)
    assert "/etc/mine: Read-only file system" in run.log()


def _inspected(container: str, client: Any) -> Any:
    return client.inspect_container(container)
