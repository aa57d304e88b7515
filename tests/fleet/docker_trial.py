"""Docker fleets whose containers are stand-ins, and the objects that they have on the engine.

As a program it is a fleet to be killed: `python -m tests.fleet.docker_trial FOLDER SCRIPT` prints
`up` once its pair is at work, or its first worker has left.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from orchestrator.fleet.docker import containers, networks
from orchestrator.fleet.docker.agents import AgentImage
from orchestrator.fleet.docker.backend import DockerBackend, DockerResources
from orchestrator.fleet.docker.containers import FoundContainer
from orchestrator.fleet.docker.engine import Engine, NotThere, connect
from orchestrator.fleet.docker.owner import DEVICE, SLOT, WORKER, Owner, owner
from orchestrator.fleet.docker.pair import STARTED
from orchestrator.locks import FileLock, try_lock
from orchestrator.pins.profile import Profile, Resources, load_profile
from tests.fleet.contract import PATIENCE_S, Trial, until
from tests.pins.a_lock import LOCK

BASE_IMAGE = "emufarm-base:bookworm"
LABEL = "emufarm.test=stand-in"
PHONE_MB, PHONE_PIDS = 256, 64


def docker(*words: str, check: bool = True, text: str = "") -> str:
    done = subprocess.run(
        ["docker", *words], input=text, capture_output=True, text=True, timeout=PATIENCE_S,
        check=check,
    )  # fmt: skip
    return done.stdout


@cache
def stand_in(program: str, *words: str) -> str:
    """An image whose entry point is this program of this folder; by its id."""
    source = Path(__file__).with_name(program).read_text()
    entry = json.dumps(["python3", "-c", source, *words])
    file = f"FROM {BASE_IMAGE}\nUSER 10001:10001\nENTRYPOINT {entry}\n"
    return docker("build", "--quiet", "--label", LABEL, "-", text=file).strip()


def remove_stand_ins() -> None:
    """Those that this session has built."""
    if stand_in.cache_info().currsize:
        docker("image", "prune", "--all", "--force", "--filter", f"label={LABEL}")
        stand_in.cache_clear()


def small_profile() -> Profile:
    profile = load_profile("sim-api34")
    small = Resources(cpus=1.0, memory_mb=PHONE_MB, pids=PHONE_PIDS)
    return profile.model_copy(update={"resources": small})


class DockerTrial(Trial):
    leaves = True

    def __init__(self, run: Path, engine: Engine) -> None:
        super().__init__(run, run.with_name(f"{run.name}-work"))
        self.engine = engine
        self.agent: AgentImage | None = None
        self.away_s = 60.0
        self._lock: FileLock | None = None

    def hold(self) -> None:
        self.run.mkdir(exist_ok=True)
        self._lock = try_lock(self.run / "lock")

    def release(self) -> None:
        """As a killed command line does."""
        assert self._lock is not None
        self._lock.close()

    @property
    def owner(self) -> Owner:
        return owner(self.run / "lock")

    def backend(self, phone: str = "phone") -> DockerBackend:
        return DockerBackend(
            engine=self.engine,
            worker_image=stand_in("stand_in_worker.py"),
            device_image=stand_in("stand_in_phone.py", phone),
            lock=LOCK,
            profile=small_profile(),
            agent=self.agent,
            seal_s=2.0,
            away_s=self.away_s,
        )

    def resources(self) -> DockerResources:
        return self.backend().resources(self.run, self.notices.append)

    def container(self, slot: str, part: str) -> FoundContainer:
        """The slot's worker or device."""
        found = containers.find(self.engine, self.owner.label, f"{SLOT}={slot}")
        (one,) = (one for one in found if one.name.endswith(part))
        return one

    def output(self, slot: str) -> str:
        log = self.run / "logs" / f"{slot}.worker.log"
        kept = log.read_text() if log.exists() else ""
        try:
            return kept + containers.log_tail(self.engine, self.container(slot, WORKER).id, 100)
        except (NotThere, ValueError):
            return kept

    async def working(self, *devices: str) -> None:
        """Once both containers of each pair are at work."""
        await super().working(*devices)
        for device in devices:
            await until(lambda: self._started(device.rpartition(".")[0]))  # noqa: B023

    def _started(self, slot: str) -> bool:
        try:
            device = self.container(slot, DEVICE)
            return STARTED in containers.log_tail(self.engine, device.id, 100)
        except (NotThere, ValueError):
            return False

    def kill_worker(self, slot: str) -> None:
        self.signal(self.container(slot, WORKER), "KILL")

    def kill_device(self, slot: str) -> None:
        self.signal(self.container(slot, DEVICE), "KILL")

    def crash_device(self, slot: str) -> None:
        self.signal(self.container(slot, DEVICE), "USR1")

    def signal(self, container: FoundContainer, name: str) -> None:
        self.engine.ask("kill a container", lambda client: client.kill(container.id, name))

    def left(self) -> list[str]:
        """In order of name: an engine lists networks and volumes in any."""
        label = self.owner.label
        return sorted(
            one.name
            for found in (
                containers.find(self.engine, label),
                networks.networks(self.engine, label),
                networks.volumes(self.engine, label),
            )
            for one in found
        )


@contextmanager
def docker_trial(run: Path, engine: Engine) -> Iterator[DockerTrial]:
    """Whatever a test does, nothing of it may be on the engine afterwards."""
    trial = DockerTrial(run, engine)
    trial.hold()
    yield trial
    trial.release()
    assert trial.left() == []


async def main(run: str, script: str) -> None:
    engine = connect()
    trial = DockerTrial(Path(run), engine)
    trial.hold()
    async with trial.fleet(script) as fleet:
        if script.startswith("wait"):
            await trial.working("slot-00.1")
        else:
            await trial.fact()
        print("up", flush=True)
        await fleet.ended()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
