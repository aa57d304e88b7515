"""What is specific to pairs of containers: shared namespaces, confinement, removal."""

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
from orchestrator.fleet.docker.backend import WORKER_LIMITS
from orchestrator.fleet.docker.engine import Engine
from orchestrator.fleet.docker.owner import DEVICE, WORKER
from orchestrator.outcome import Cause
from tests.fleet.contract import ended, states
from tests.fleet.docker_trial import PHONE_MB, PHONE_PIDS, DockerTrial, docker_trial

pytestmark = pytest.mark.docker


@pytest.fixture
def trial(engine: Engine, tmp_path: Path) -> Iterator[DockerTrial]:
    with docker_trial(tmp_path / "a-run", engine) as trial:
        yield trial


async def test_a_worker_and_its_device_share_one_loopback(trial: DockerTrial) -> None:
    async with trial.fleet("ask 127.0.0.1 5600 0") as fleet:
        await ended(fleet)
    assert "the phone is here" in trial.output("slot-00")


async def test_a_worker_reaches_this_machine_at_the_gateway(trial: DockerTrial) -> None:
    async with trial.resources() as resources, asyncio.timeout(60):
        heard = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"the coordinator is here\n")
            await writer.drain()
            writer.close()
            heard.set()

        server = await asyncio.start_server(answer, resources.host, 0)
        port = server.sockets[0].getsockname()[1]
        order = trial.order(f"ask {resources.host} {port} 0", 1, 3)
        async with resources.fleet(order, trial.facts.put_nowait) as fleet:
            await ended(fleet)
        server.close()
        assert heard.is_set()


async def test_a_killed_worker_takes_its_device_along(trial: DockerTrial) -> None:
    """Its namespace is gone, so another pair takes the place."""
    async with trial.fleet("wait 0; exit 0") as fleet:
        await trial.working("slot-00.1")
        await asyncio.to_thread(trial.kill_worker, "slot-00")
        fact = await trial.fact()
        await ended(fleet)
        assert fleet.slots[0].device == "slot-00.2"
    assert "the worker's container ended with exit code 137" in fact.text


async def test_a_device_that_takes_too_much_memory_is_reported_so(trial: DockerTrial) -> None:
    async with trial.fleet("wait 0; exit 0", phone="hungry") as fleet:
        fact = await trial.fact()
        await ended(fleet)
    assert (fact.kind, fact.exit_code) == ("device_lost", 137)
    assert fact.cause is Cause.OUT_OF_MEMORY
    assert f"container OOM-killed: the device needed more than its {PHONE_MB} MB" in fact.text


async def test_a_removed_container_is_reported_so(trial: DockerTrial) -> None:
    async with trial.fleet("wait 0; exit 0") as fleet:
        await trial.working("slot-00.1")
        worker = trial.container("slot-00", WORKER)
        await asyncio.to_thread(containers.remove, trial.engine, worker.id)
        fact = await trial.fact()
        await ended(fleet)
    assert (fact.kind, fact.cause, fact.exit_code) == ("worker_lost", Cause.REMOVED, None)
    assert "somebody removed it" in fact.text


async def test_an_image_that_is_not_there_is_reported_so(trial: DockerTrial) -> None:
    backend = replace(trial.backend(), device_image="emufarm-no-such:1")
    order = trial.order("wait 0", 1, 1)
    async with (
        backend.resources(trial.run, trial.notices.append) as resources,
        resources.fleet(order, trial.facts.put_nowait) as fleet,
    ):
        await ended(fleet)
        assert states(fleet) == ["given_up"]
    fact = await trial.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.IMAGE_ERROR)
    assert "No such image" in fact.text


async def test_containers_are_confined(trial: DockerTrial) -> None:
    """As the engine itself describes it, and as the container finds it."""
    limits = {WORKER: (WORKER_LIMITS.memory_mb, WORKER_LIMITS.pids), DEVICE: (PHONE_MB, PHONE_PIDS)}
    async with trial.fleet("wait 0"):
        await trial.working("slot-00.1")
        for part, (memory_mb, pids) in limits.items():
            one = trial.container("slot-00", part)
            found = trial.engine.ask("look", partial(_inspect, one.id))
            host = found["HostConfig"]
            assert host["CapDrop"] == ["ALL"]
            assert host["SecurityOpt"] == ["no-new-privileges"]
            assert host["ReadonlyRootfs"]
            assert not host["Privileged"]
            assert (host["Memory"], host["MemorySwap"]) == (memory_mb << 20, memory_mb << 20)
            assert host["PidsLimit"] == pids
            assert host["NanoCpus"] >= 1_000_000_000
            assert "docker.sock" not in json.dumps(found)
            assert host["Devices"] in (None, [])


async def test_a_container_cannot_write_to_its_image(trial: DockerTrial) -> None:
    async with trial.fleet("write /etc/mine 0") as fleet:
        await ended(fleet)
    assert "/etc/mine: Read-only file system" in trial.output("slot-00")


def _inspect(container: str, client: Any) -> Any:
    return client.inspect_container(container)
