"""The contract suite of fleets, which test_contract_<backend>.py runs on each backend.

A backend is tried through a `Trial`: its pairs are made by the backend itself, their workers follow
a script (stand_in_worker.py), and the trial reaches into them as a fault would.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.fact import DeviceFact
from orchestrator.fleet.port import Backend, CannotLeave, Fleet, FleetOrder
from orchestrator.outcome import Cause

PATIENCE_S = 120.0


class Trial(ABC):
    """One run on a backend."""

    leaves: bool  # whether its pairs can outlive this process

    def __init__(self, run: Path, work: Path) -> None:
        self.run = run
        self.work = work
        self.facts: asyncio.Queue[DeviceFact] = asyncio.Queue()
        self.notices: list[str] = []

    @abstractmethod
    def backend(self, phone: str) -> Backend:
        """`phone`: one that works; `broken`: one that names /no/such/emulator and ends with 1."""

    @abstractmethod
    def output(self, slot: str) -> str:
        """What the slot's workers have printed up to now."""

    @abstractmethod
    def kill_worker(self, slot: str) -> None:
        """With SIGKILL."""

    @abstractmethod
    def kill_device(self, slot: str) -> None:
        """With SIGKILL."""

    @abstractmethod
    def crash_device(self, slot: str) -> None:
        """Its emulator ends with code 139, as after SIGSEGV."""

    @abstractmethod
    def left(self) -> list[str]:
        """Processes, containers and the like that there are of this run."""

    def order(self, script: str, devices: int, starts: int) -> FleetOrder:
        self.work.mkdir(exist_ok=True)
        return FleetOrder(
            devices=devices, coordinator=script, key=WorkerKey("a key"), work=self.work,
            starts=starts, boot_s=60.0, linger_s=0.5,
        )  # fmt: skip

    @asynccontextmanager
    async def fleet(
        self, script: str, *, devices: int = 1, starts: int = 5, phone: str = "phone"
    ) -> AsyncIterator[Fleet]:
        order = self.order(script, devices, starts)
        async with (
            self.backend(phone).resources(self.run, self.notices.append) as resources,
            resources.fleet(order, self.facts.put_nowait) as fleet,
        ):
            yield fleet

    async def fact(self) -> DeviceFact:
        return await asyncio.wait_for(self.facts.get(), PATIENCE_S)

    async def working(self, *devices: str) -> None:
        """Once the workers of these devices are at work."""
        for device in devices:
            slot = device.rpartition(".")[0]
            await until(lambda: f"{device} at work" in self.output(slot))  # noqa: B023


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - a process tells no event
            await asyncio.sleep(0.02)


async def ended(fleet: Fleet) -> None:
    await asyncio.wait_for(fleet.ended(), PATIENCE_S)


def states(fleet: Fleet) -> list[str]:
    return [slot.state for slot in fleet.slots]


class FleetContract:
    """Subclassed once for each backend, with a fixture `trial`."""

    async def test_a_worker_that_leaves_with_0_ends_its_slot(self, trial: Trial) -> None:
        async with trial.fleet("exit 0", devices=2) as fleet:
            await ended(fleet)
            assert states(fleet) == ["finished", "finished"]
        assert trial.facts.empty()
        assert trial.notices == []

    async def test_a_device_that_its_worker_finds_unusable_is_replaced(self, trial: Trial) -> None:
        async with trial.fleet("meet 3; exit 0") as fleet:
            await ended(fleet)
            assert fleet.slots[0].device == "slot-00.2"
        fact = await trial.fact()
        assert (fact.kind, fact.device) == ("device_lost", "slot-00.1")
        assert (fact.cause, fact.exit_code) == (Cause.UNUSABLE, None)
        assert "its worker found it unusable" in fact.text

    async def test_a_crashed_worker_is_reported_and_followed_by_another(self, trial: Trial) -> None:
        """With its code and its last output; the next one has the same staging folder."""
        async with trial.fleet("exit 7; exit 0") as fleet:
            await ended(fleet)
        fact = await trial.fact()
        assert (fact.kind, fact.device) == ("worker_lost", "slot-00.1")
        assert (fact.cause, fact.exit_code) == (Cause.EXITED, 7)
        assert "leaving with 7" in fact.text
        assert trial.facts.empty()

    async def test_a_killed_worker_is_reported_with_its_code(self, trial: Trial) -> None:
        async with trial.fleet("wait 0; exit 0") as fleet:
            await trial.working("slot-00.1")
            await asyncio.to_thread(trial.kill_worker, "slot-00")
            fact = await trial.fact()
            await ended(fleet)
        assert (fact.kind, fact.device) == ("worker_lost", "slot-00.1")
        assert (fact.cause, fact.exit_code) == (Cause.KILLED, 137)
        assert trial.facts.empty()

    @pytest.mark.parametrize(("cause", "code"), [(Cause.KILLED, 137), (Cause.CRASHED, 139)])
    async def test_a_lost_device_is_reported_with_its_cause_once_its_worker_has_left(
        self, trial: Trial, cause: Cause, code: int
    ) -> None:
        """Its worker has its time to seal and send what it has, then another pair starts."""
        async with trial.fleet("wait 3; exit 0") as fleet:
            await trial.working("slot-00.1")
            lose = trial.kill_device if cause is Cause.KILLED else trial.crash_device
            await asyncio.to_thread(lose, "slot-00")
            fact = await trial.fact()
            assert "given back" in trial.output("slot-00")
            await ended(fleet)
            assert fleet.slots[0].device == "slot-00.2"
        assert (fact.kind, fact.device) == ("device_lost", "slot-00.1")
        assert (fact.cause, fact.exit_code) == (cause, code)
        assert str(code) in fact.text
        assert trial.facts.empty()

    async def test_a_device_that_never_starts_is_reported_with_its_reason(
        self, trial: Trial
    ) -> None:
        """Each start by itself, and at last that the slot is given up."""
        async with trial.fleet("wait 3", starts=2, phone="broken") as fleet:
            await ended(fleet)
            assert states(fleet) == ["given_up"]
        facts = [await trial.fact() for _ in range(3)]
        assert [fact.kind for fact in facts] == ["device_not_started"] * 2 + ["slot_given_up"]
        assert [fact.device for fact in facts[:2]] == ["slot-00.1", "slot-00.2"]
        assert [fact.cause for fact in facts] == [Cause.EXITED] * 3
        assert facts[0].exit_code == 1
        assert all("/no/such/emulator" in fact.text for fact in facts)

    async def test_a_slot_is_given_up_after_so_many_crashes(self, trial: Trial) -> None:
        async with trial.fleet("exit 7", starts=2) as fleet:
            await ended(fleet)
            assert states(fleet) == ["given_up"]
        kinds = [(await trial.fact()).kind for _ in range(3)]
        assert kinds == ["worker_lost", "worker_lost", "slot_given_up"]

    async def test_a_slot_whose_workers_commit_is_not_given_up(self, trial: Trial) -> None:
        """However often they crash: only starts in a row without a commit count."""
        async with trial.fleet("exit 7; exit 7; exit 7; exit 7; exit 0", starts=2) as fleet:
            for _ in range(4):
                fleet.committed((await trial.fact()).device)
            await ended(fleet)
            assert states(fleet) == ["finished"]

    async def test_an_ended_fleet_gives_its_leases_back_and_leaves_nothing(
        self, trial: Trial
    ) -> None:
        async with trial.fleet("wait 0", devices=2) as fleet:
            await trial.working("slot-00.1", "slot-01.1")
            await fleet.end()
            assert states(fleet) == ["stopped", "stopped"]
            for slot in ("slot-00", "slot-01"):
                assert "given back" in trial.output(slot)
            await ended(fleet)
        assert trial.left() == []
        assert trial.facts.empty()

    async def test_leaving_the_block_ends_the_fleet(self, trial: Trial) -> None:
        async with trial.fleet("wait 0") as fleet:
            await trial.working("slot-00.1")
        assert states(fleet) == ["stopped"]
        assert "given back" in trial.output("slot-00")
        assert trial.left() == []

    async def test_a_fleet_may_be_ended_while_it_starts(self, trial: Trial) -> None:
        async with trial.fleet("wait 0", devices=2) as fleet:
            await asyncio.sleep(0)  # the slots' first step: devices are starting
        assert states(fleet) == ["stopped", "stopped"]
        assert trial.left() == []
        assert trial.facts.empty()

    async def test_a_fleet_grows(self, trial: Trial) -> None:
        async with trial.fleet("wait 0") as fleet:
            await trial.working("slot-00.1")
            await fleet.resize(2)
            await trial.working("slot-01.1")
            await until(lambda: states(fleet) == ["running", "running"])
        assert trial.left() == []

    async def test_a_fleet_shrinks_where_no_lease_is_held(self, trial: Trial) -> None:
        """Workers that are stopped give back what they have; the others work on."""
        async with trial.fleet("wait 0", devices=3) as fleet:
            await trial.working("slot-00.1", "slot-01.1", "slot-02.1")
            await fleet.resize(2, busy={"slot-00.1", "slot-02.1"})
            assert states(fleet) == ["running", "stopped", "running"]
            assert "given back" in trial.output("slot-01")
            await fleet.resize(1, busy={"slot-00.1", "slot-02.1"})
            assert states(fleet) == ["running", "stopped", "stopped"]
            await fleet.resize(2)
            await trial.working("slot-03.1")  # no device has another's name
        assert trial.left() == []
        assert trial.facts.empty()

    async def test_a_left_fleet_stays_alive_for_its_successor(self, trial: Trial) -> None:
        """Where pairs cannot outlive this process, that is an error, and nothing has changed."""
        backend = trial.backend("phone")
        async with backend.resources(trial.run, trial.notices.append) as resources:
            order = trial.order("wait 0", 1, 5)
            async with resources.fleet(order, trial.facts.put_nowait) as fleet:
                await trial.working("slot-00.1")
                if not trial.leaves:
                    with pytest.raises(CannotLeave):
                        await fleet.leave()
                    assert states(fleet) == ["running"]
                    return
                before = trial.left()
                await fleet.leave()
            assert not await resources.salvage()
        assert trial.left() == before
        assert "given back" not in trial.output("slot-00")
        trial.work = trial.work.with_name("next")
        async with backend.resources(trial.run, trial.notices.append, adopt=True) as resources:
            order = replace(trial.order("wait 0", 1, 5), adopted=await resources.living())
            async with resources.fleet(order, trial.facts.put_nowait) as fleet:
                await until(lambda: states(fleet) == ["running"])
                assert sorted(trial.left()) == sorted(before)
            assert trial.output("slot-00").count("at work") == 1
        assert trial.facts.empty()
        assert trial.left() == []
