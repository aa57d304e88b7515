"""Where does a run stand while it runs? Where its coordinator listens, how its fleet is made."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..coordinator.open_run import LOCK as RUN_LOCK
from ..device.adb import adb_binary
from ..fleet.docker import run_resources as docker_ground
from ..fleet.docker.containers import ContainerLimits, Mount
from ..fleet.docker.fleet import DockerFleet
from ..fleet.docker.owner import STAGING
from ..fleet.docker.terms import DockerTerms, Part
from ..fleet.fact import Fact
from ..fleet.local.fleet import LocalFleet
from ..fleet.local.pair import Pair, Terms
from ..fleet.slot import Bounds
from ..image.embedded import device_env, emulator, noise_options
from ..image.golden_cache import GoldenImage
from ..pins.image_lock import FILE as GOLDEN_LOCK
from ..pins.image_lock import IMAGE_FILE, write_lock
from ..pins.profile import FILE as PROFILE
from ..pins.profile import IMAGES_VARIABLE, images_folder
from ..worker.arguments import WorkerArguments
from .backends import Docker, Local, Say
from .job import Job

WORKER_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", IMAGES_VARIABLE)
WORKER_TOKEN, CONTROL_TOKEN = "worker.token", "control.token"
INSIDE = "/run/emufarm"  # where a container has what it is given
CONTROL_PORT = 5600  # of the supervisor in a device's image
WORKER_LIMITS = ContainerLimits(cpus=2.0, memory_mb=2048, pids=512)

OnFact = Callable[[Fact], None]
Fleet = LocalFleet | DockerFleet


@dataclass(frozen=True)
class Reached:
    """How workers reach the coordinator, and where the run was before."""

    url: str
    secret: str
    work: Path  # gone with this execution
    first: Mapping[str, int]  # each slot's next device number


class Ground(Protocol):
    @property
    def host(self) -> str:
        """Where the coordinator listens."""
        ...

    def fleet(self, reached: Reached, on_fact: OnFact) -> Fleet: ...

    async def salvage(self) -> bool:
        """Once the fleet has ended: whether sealed evidence came to the run's staging folder."""
        ...


@asynccontextmanager
async def ground_of(job: Job, say: Say) -> AsyncIterator[Ground]:
    """By whoever holds the run's lock."""
    backend = job.backend
    if isinstance(backend, Local):
        yield LocalGround(job, backend.image)
        return
    made = docker_ground.Ground(backend.engine, job.run / RUN_LOCK, backend.image.worker_image, say)
    async with made:
        yield DockerGround(job, backend, made)


@dataclass(frozen=True)
class LocalGround:
    job: Job
    image: GoldenImage
    host: str = "127.0.0.1"

    async def salvage(self) -> bool:
        return False  # its workers' staging is in the run's folder

    def fleet(self, reached: Reached, on_fact: OnFact) -> LocalFleet:
        job, token = self.job, reached.work / WORKER_TOKEN
        token.touch(mode=0o600)
        token.write_text(reached.secret)

        def worker(pair: Pair) -> list[str]:
            arguments = WorkerArguments(
                coordinator=reached.url,
                token_file=token,
                device=pair.device,
                control_port=pair.control_port,
                control_token_file=pair.token_file,
                staging=pair.staging,
                lock=self.image.golden.home.parent / GOLDEN_LOCK,
                profile=job.profile.name,
                boot_s=job.settings.limits.boot_s,
                tied=True,
            )
            return [sys.executable, "-m", "orchestrator.cli", *arguments.words()]

        terms = Terms(
            golden=self.image.golden,
            emulator=emulator(job.profile, job.settings.noise),
            adb=adb_binary(),
            worker_command=worker,
            device_env=device_env(),
            worker_env={name: os.environ[name] for name in WORKER_VARIABLES if name in os.environ},
            work=reached.work,
            staging=job.run / STAGING,
            logs=job.run / "logs",
            starts=job.settings.limits.starts,
            last_word_s=job.last_word_s,
            first=reached.first,
        )
        return LocalFleet(job.devices, terms, on_fact)


@dataclass(frozen=True)
class DockerGround:
    job: Job
    backend: Docker
    made: docker_ground.Ground

    @property
    def host(self) -> str:
        return self.made.gateway

    async def salvage(self) -> bool:
        return await self.made.salvage()

    def fleet(self, reached: Reached, on_fact: OnFact) -> DockerFleet:
        job, image = self.job, self.backend.image
        given = self._given(reached)
        resources = job.profile.resources

        def worker(device: str, staging: str) -> list[str]:
            arguments = WorkerArguments(
                coordinator=reached.url,
                token_file=Path(INSIDE, WORKER_TOKEN),
                device=device,
                control_port=CONTROL_PORT,
                control_token_file=Path(INSIDE, CONTROL_TOKEN),
                staging=Path(staging),
                lock=Path(INSIDE, IMAGE_FILE),
                profile=job.profile.name,
                boot_s=job.settings.limits.boot_s,
            )
            return arguments.words()

        def device(slot: int) -> list[str]:
            options = noise_options(job.settings.noise, slot)
            return ["--last-word", str(job.last_word_s), "--", *options]

        terms = DockerTerms(
            engine=self.made.engine,
            owner=self.made.owner,
            network=self.made.network,
            volume=self.made.volume,
            worker=Part(
                image.worker_image,
                WORKER_LIMITS,
                (Mount(INSIDE, str(given)),),
                {IMAGES_VARIABLE: f"{INSIDE}/images"},
            ),
            device=Part(
                image.image,
                ContainerLimits(resources.cpus, resources.memory_mb, resources.pids),
                # Not the workers' secret: an agent may come to own the phone.
                (Mount(f"{INSIDE}/{CONTROL_TOKEN}", str(given / CONTROL_TOKEN)),),
                kvm=job.profile.kvm,
            ),
            worker_command=worker,
            device_command=device,
            logs=job.run / "logs",
            bounds=Bounds(job.settings.limits.starts, reached.first),
            agent=self.backend.agent,
        )
        return DockerFleet(job.devices, terms, on_fact)

    def _given(self, reached: Reached) -> Path:
        """A folder that containers see. Their users are not ours, so all may read what is in it;
        here nobody else gets to it, for the work folder is its owner's alone."""
        given, profile = reached.work / "given", self.job.profile.name
        place = given / "images" / profile
        place.mkdir(parents=True)
        (given / WORKER_TOKEN).write_text(reached.secret)
        (given / CONTROL_TOKEN).write_text(secrets.token_urlsafe(24))
        write_lock(given / IMAGE_FILE, self.backend.lock)
        (place / PROFILE).write_bytes((images_folder() / profile / PROFILE).read_bytes())
        for path in (given, *given.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o444)
        return given
