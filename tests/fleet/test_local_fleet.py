"""Pairs on this machine: what becomes of them, what is told of it, and that nothing stays."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.device.supervisor_client import SupervisorClient
from orchestrator.fleet.local.fleet import LocalFleet
from orchestrator.fleet.local.pair import Pair
from orchestrator.fleet.local.work_folder import work_folder
from orchestrator.image.golden_cache import GoldenImage
from tests.fleet.conftest import PATIENCE_S, Start, Watched, processes_of
from tests.supervisor.supervised import until

WAIT = ("wait", "0")


async def started(pair: Pair) -> int:
    """The pid of the pair's worker, once it runs."""
    file = pair.staging / "pid"
    await asyncio.to_thread(until, file.exists, "the worker runs")
    return int(file.read_text())


async def ended(fleet: LocalFleet) -> None:
    await asyncio.wait_for(fleet.ended(), PATIENCE_S)


def free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def supervisor_of(pair: Pair) -> int:
    """The pid, which a worker is not told."""
    folder = pair.token_file.parent
    found = processes_of(folder)
    return next(pid for pid, words in found.items() if "orchestrator.supervisor" in words)


async def test_a_worker_that_leaves_with_0_ends_its_slot(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: ("exit", "0"), count=2) as running:
        await ended(running)
        assert [slot.state for slot in running.slots] == ["finished", "finished"]
        assert watched.facts.empty()
        assert not running.given_up


async def test_what_a_worker_started_goes_with_it(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: ("brood", "0")) as running:
        await ended(running)
        pair = await watched.pair()
        await asyncio.to_thread(until, lambda: not processes_of(pair.staging), "its child is gone")


async def test_a_device_is_known_by_its_slot_and_number(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: ("exit", "0")) as running:
        pair = await watched.pair()
        await ended(running)
    assert (pair.slot, pair.device) == ("slot-00", "slot-00.1")
    assert pair.serial == f"emulator-{pair.console_port}"


async def test_an_unusable_device_is_replaced(fleet: Start, watched: Watched) -> None:
    """By one with a new id, and the slot's staging folder is the next worker's too."""
    deeds = iter((("exit", "3"), ("exit", "0")))
    async with fleet(lambda pair: next(deeds)) as running:
        await ended(running)
    fact = await watched.fact()
    first, second = await watched.pair(), await watched.pair()
    assert (fact.kind, fact.device, fact.exit_code) == ("device_lost", "slot-00.1", None)
    assert "unusable" in fact.text
    assert second.device == "slot-00.2"
    assert second.staging == first.staging


async def test_a_crashed_worker_is_followed_by_another(fleet: Start, watched: Watched) -> None:
    """On the same device, and what it said last is told."""
    deeds = iter((("exit", "7"), ("exit", "0")))
    async with fleet(lambda pair: next(deeds)) as running:
        await ended(running)
    fact = await watched.fact()
    assert (fact.kind, fact.device, fact.exit_code) == ("worker_lost", "slot-00.1", 7)
    assert "leaving with 7" in fact.text
    assert await watched.pair() == await watched.pair()


async def test_a_slot_is_given_up_after_so_many_crashes(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: ("exit", "7"), starts=2) as running:
        await ended(running)
        assert running.given_up
        assert running.slots[0].state == "given_up"
    kinds = [(await watched.fact()).kind for _ in range(3)]
    assert kinds == ["worker_lost", "worker_lost", "slot_given_up"]


async def test_a_device_that_never_starts_is_told_with_its_reason(
    fleet: Start, watched: Watched
) -> None:
    """Each start by itself, and at last that the slot is given up; no worker was started."""
    async with fleet(lambda pair: WAIT, emulator=("/no/such/emulator",), starts=2) as running:
        await ended(running)
        assert running.given_up
    facts = [await watched.fact() for _ in range(3)]
    assert [fact.kind for fact in facts] == ["device_not_started"] * 2 + ["slot_given_up"]
    assert [fact.device for fact in facts[:2]] == ["slot-00.1", "slot-00.2"]
    assert all("/no/such/emulator" in fact.text for fact in facts)
    assert watched.pairs.empty()


async def test_a_killed_emulator_is_told_with_its_code(fleet: Start, watched: Watched) -> None:
    """Its worker may seal and send what it has, then a new pair takes the place."""
    deeds = iter((("wait", "3"), ("exit", "0")))
    async with fleet(lambda pair: next(deeds)) as running:
        pair = await watched.pair()
        await started(pair)
        client = SupervisorClient(pair.control_port, pair.token_file.read_text().strip())
        emulator = (await asyncio.to_thread(client.facts)).pid
        assert emulator is not None
        os.kill(emulator, signal.SIGKILL)
        fact = await watched.fact()
        assert (fact.kind, fact.device, fact.exit_code) == ("device_lost", "slot-00.1", 137)
        assert "ended by itself with exit code 137" in fact.text
        assert not processes_of(pair.staging)  # told once its worker has left
        assert (await watched.pair()).device == "slot-00.2"
        await ended(running)
        assert watched.facts.empty()


async def test_a_killed_supervisor_is_a_lost_device(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: WAIT) as running:
        pair = await watched.pair()
        await started(pair)
        os.kill(supervisor_of(pair), signal.SIGKILL)
        fact = await watched.fact()
        assert (fact.kind, fact.exit_code) == ("device_lost", 137)
        assert running.slots[0].device == pair.device  # told before another takes its place


async def test_a_worker_that_stays_without_its_device_is_sent_after_it(
    fleet: Start, watched: Watched
) -> None:
    deeds = iter((WAIT, ("exit", "0")))
    async with fleet(lambda pair: next(deeds)) as running:
        pair = await watched.pair()
        await started(pair)
        os.kill(supervisor_of(pair), signal.SIGKILL)
        assert (await watched.fact()).kind == "device_lost"
        assert (await watched.pair()).device == "slot-00.2"
        await ended(running)
        assert (pair.staging / "given-back").exists()
        assert watched.facts.empty()


async def test_a_killed_worker_is_told_with_its_code(fleet: Start, watched: Watched) -> None:
    deeds = iter((WAIT, ("exit", "0")))
    async with fleet(lambda pair: next(deeds)) as running:
        os.kill(await started(await watched.pair()), signal.SIGKILL)
        fact = await watched.fact()
        assert (fact.kind, fact.exit_code) == ("worker_lost", 137)
        await ended(running)


async def test_a_stopped_fleet_leaves_nothing(fleet: Start, watched: Watched) -> None:
    """Leases are given back; no process, no port, no copy stays."""
    async with fleet(lambda pair: WAIT, count=2) as running:
        pairs = [await watched.pair(), await watched.pair()]
        for pair in pairs:
            await started(pair)
    assert [slot.state for slot in running.slots] == ["stopped", "stopped"]
    for pair in pairs:
        assert (pair.staging / "given-back").exists()
        ports = (pair.console_port, pair.console_port + 1, pair.adb_port, pair.control_port)
        assert [port for port in ports if not free(port)] == []
    assert watched.facts.empty()


async def test_a_fleet_may_be_stopped_while_it_starts(fleet: Start, watched: Watched) -> None:
    async with fleet(lambda pair: WAIT, count=2) as running:
        await asyncio.sleep(0)  # the slots' first step: devices are starting
    assert [slot.state for slot in running.slots] == ["stopped", "stopped"]
    assert watched.facts.empty()


async def test_a_deaf_worker_is_killed(
    fleet: Start, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.local.worker_process.STOP_S", 0.2)
    async with fleet(lambda pair: ("deaf",)):
        pair = await watched.pair()
        await started(pair)
    assert processes_of(pair.staging) == {}


@contextmanager
def farm(image: GoldenImage, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A fleet of two in a process of its own, both workers at work; and its work folder."""
    golden = image.golden
    words = [str(golden.home), golden.avd, golden.snapshot, str(tmp_path), "2"]
    program = [sys.executable, str(Path(__file__).with_name("farm.py"))]
    errors = tmp_path / "farm.err"
    with (
        errors.open("wb") as output,
        subprocess.Popen([*program, *words], stdout=subprocess.PIPE, stderr=output) as process,
    ):
        assert process.stdout is not None
        work = Path(process.stdout.readline().decode().strip())
        assert process.stdout.readline() == b"up\n", errors.read_text()
        until(lambda: len(list(tmp_path.glob("staging/*/pid"))) == 2, "both workers run")
        yield process, work


def test_a_killed_fleet_takes_everything_along(image: GoldenImage, tmp_path: Path) -> None:
    """kill -9 of its process ends workers, supervisors, emulators and adb servers; the next run
    removes their copies."""
    with farm(image, tmp_path) as (process, work):
        assert len(processes_of(work)) >= 6  # of two: supervisor, adb server, emulator
        process.kill()
    until(lambda: not processes_of(tmp_path), "all of its processes are gone")
    assert work.exists()
    with work_folder(tmp_path):
        assert not work.exists()


def test_an_interrupted_fleet_gives_its_leases_back(image: GoldenImage, tmp_path: Path) -> None:
    """Ctrl-C: workers have their time, and nothing stays."""
    with farm(image, tmp_path) as (process, work):
        process.send_signal(signal.SIGINT)
    assert len(list(tmp_path.glob("staging/*/given-back"))) == 2
    assert processes_of(tmp_path) == {}
    assert not work.exists()
