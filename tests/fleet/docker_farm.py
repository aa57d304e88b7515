"""A Docker fleet whose containers are stand-ins, and what is on the engine because of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.fleet.docker import containers, networks
from orchestrator.fleet.docker.containers import ContainerLimits, FoundContainer, Mount
from orchestrator.fleet.docker.engine import Engine, NotThere, connect
from orchestrator.fleet.docker.fleet import DockerFleet
from orchestrator.fleet.docker.owner import SLOT, Owner, owner
from orchestrator.fleet.docker.run_resources import Ground
from orchestrator.fleet.docker.terms import DockerTerms, Part
from orchestrator.fleet.fact import Fact
from orchestrator.fleet.slot import Bounds
from orchestrator.locks import FileLock, try_lock

BASE_IMAGE = "emufarm-base:bookworm"
PROGRAM = Path(__file__).with_name("stand_in_container.py")
INSIDE = "/stand_in.py"
PATIENCE_S = 120.0
SMALL = ContainerLimits(cpus=1.0, memory_mb=64, pids=32)

Deed = Sequence[str]


@dataclass
class Run:
    """One run's folder, its lock held, and what its fleet told."""

    place: Path
    engine: Engine
    facts: asyncio.Queue[Fact] = field(default_factory=asyncio.Queue)
    said: list[str] = field(default_factory=list)
    starts: int = 3
    away_s: float = 60.0
    workers: Callable[[str, str], Deed] = lambda device, staging: ("wait", "0")
    devices: Callable[[int], Deed] = lambda number: ("phone",)
    _lock: FileLock | None = None

    def hold(self) -> None:
        self.place.mkdir(exist_ok=True)
        self._lock = try_lock(self.place / "lock")

    def let_go(self) -> None:
        """As a killed command line does."""
        assert self._lock is not None
        self._lock.release()

    @property
    def owner(self) -> Owner:
        return owner(self.place / "lock")

    def ground(self) -> Ground:
        return Ground(self.engine, self.place / "lock", BASE_IMAGE, self.said.append)

    def terms(self, ground: Ground) -> DockerTerms:
        program = (Mount(INSIDE, str(PROGRAM)),)
        part = Part(BASE_IMAGE, SMALL, program)

        def command(deed: Deed) -> list[str]:
            return ["python3", INSIDE, *deed]

        return DockerTerms(
            engine=self.engine,
            owner=self.owner,
            network=ground.network,
            volume=ground.volume,
            worker=part,
            device=part,
            worker_command=lambda device, staging: command(self.workers(device, staging)),
            device_command=lambda number: command(self.devices(number)),
            logs=self.place / "logs",
            bounds=Bounds(self.starts, {}),
            seal_s=2.0,
            away_s=self.away_s,
        )

    @asynccontextmanager
    async def fleet(self, count: int = 1) -> AsyncIterator[DockerFleet]:
        async with AsyncExitStack() as stack:
            ground = await stack.enter_async_context(self.ground())
            terms = self.terms(ground)
            yield await stack.enter_async_context(DockerFleet(count, terms, self.facts.put_nowait))

    async def fact(self) -> Fact:
        return await asyncio.wait_for(self.facts.get(), PATIENCE_S)

    async def at_work(
        self, slot: str = "slot-00", number: int = 1
    ) -> tuple[FoundContainer, FoundContainer]:
        """The worker and the device of a slot's n-th pair, once both say so."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await asyncio.to_thread(self.pair, slot, number)
                if found is not None:
                    return found
                await asyncio.sleep(0.1)

    def pair(self, slot: str, number: int) -> tuple[FoundContainer, FoundContainer] | None:
        found = containers.find(self.engine, self.owner.label, f"{SLOT}={slot}")
        named = {one.name.rpartition(f"-{slot}.{number}-")[2]: one for one in found}
        both = (named.get("worker"), named.get("device"))
        if both[0] is None or both[1] is None:
            return None
        try:
            words = [containers.log_tail(self.engine, one.id, 10) for one in both if one]
        except NotThere as error:
            told = [self.facts.get_nowait() for _ in range(self.facts.qsize())]
            raise AssertionError(f"the pair is gone: {told}") from error
        return (both[0], both[1]) if all("at work" in word for word in words) else None

    def log(self, slot: str = "slot-00") -> str:
        """What the workers of a slot printed."""
        return (self.place / "logs" / f"{slot}.worker.log").read_text()

    def left(self) -> list[str]:
        """What the engine still has of it."""
        label = self.owner.label
        return [
            *(one.name for one in containers.find(self.engine, label)),
            *(one.name for one in networks.networks(self.engine, label)),
            *(one.name for one in networks.volumes(self.engine, label)),
        ]


async def ended(fleet: DockerFleet) -> None:
    await asyncio.wait_for(fleet.ended(), PATIENCE_S)


def kill(engine: Engine, container: FoundContainer) -> None:
    engine.ask("kill a container", lambda client: client.kill(container.id))


async def main(place: str, *deed: str) -> None:
    """A fleet as a program, to be killed; prints `up` once its pair is there and did its deed."""
    engine = connect()
    run = Run(Path(place), engine)
    run.workers = lambda device, staging: [word.replace("STAGING", staging) for word in deed]
    run.hold()
    async with run.fleet() as fleet:
        if deed[0] == "wait":
            await run.at_work()
        else:
            await run.fact()
        print("up", flush=True)
        await fleet.ended()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
