"""Chooses a run's backend and its image, before anything is provisioned."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.spec import check_backend, image_of
from ..device.adb import adb_version
from ..errors import EmufarmError, UsageError
from ..events.notify import Notify
from ..fleet.docker.agents import AgentImage, agent_image
from ..fleet.docker.backend import DockerBackend
from ..fleet.docker.engine import EngineAbsent, connect
from ..fleet.emulator_command import EmulatorCommand
from ..fleet.local.backend import LocalBackend
from ..fleet.port import Backend
from ..image.docker_image import ensure_image
from ..image.embedded import embedded_image
from ..image.simphone import simphone
from ..pins.image_lock import FILE as LOCK_FILE
from ..pins.image_lock import ImageLock
from ..pins.profile import Profile

CLUSTER = "kubernetes"  # `auto` never chooses it
BACKENDS = ("auto", "local", "docker", CLUSTER)


@dataclass(frozen=True)
class ChosenBackend:
    """A backend, and the facts of its image that a run's documents record."""

    backend: Backend
    lock: ImageLock
    adb_version: str
    emulator: tuple[str, ...]
    agent: AgentImage | None = None  # where the agent comes in one

    @property
    def name(self) -> str:
        return self.backend.name

    def emulator_command(self, noise: int | None) -> list[str]:
        """The first slot's."""
        return EmulatorCommand(self.emulator, noise).for_slot(0)


def choose_backend(name: str, profile: Profile, agent: str, notify: Notify) -> ChosenBackend:
    """The backend of this name; UsageError if it cannot be used. `auto` is Docker if an engine
    answers and the image is there or can be built, otherwise local; a notice says which and why."""
    check_backend_name(name)
    if name == "auto":
        return _automatic(profile, agent, notify)
    if name == CLUSTER:
        raise UsageError("this command runs on this machine: choose local or docker")
    choose = docker_backend if name == "docker" else local_backend
    return choose(profile, agent, notify)


def check_backend_name(name: str) -> None:
    """UsageError where there is no such backend."""
    if name not in BACKENDS:
        raise UsageError(f"there is no backend {name!r}; choose one of {', '.join(BACKENDS)}")


def _automatic(profile: Profile, agent: str, notify: Notify) -> ChosenBackend:
    if image_of(agent) or not profile.simulated:
        return docker_backend(profile, agent, notify)
    try:
        return docker_backend(profile, agent, notify)
    except EngineAbsent as error:
        notify(f"backend: local ({error.why})")
    except EmufarmError as error:
        notify(f"backend: local ({error})")
    return local_backend(profile, agent, notify)


def local_backend(profile: Profile, agent: str, notify: Notify) -> ChosenBackend:
    check_backend(agent, "local")
    if not profile.simulated:
        raise UsageError(
            f"{profile.name} is no simulated phone, and BACKEND=local has no other: use "
            "BACKEND=docker"
        )
    image = embedded_image(profile, notify)
    emulator = (simphone().program, *profile.emulator)
    lock_file = image.golden.home.parent / LOCK_FILE
    backend = LocalBackend(image.golden, lock_file, emulator, profile.name)
    return ChosenBackend(backend, image.lock, adb_version(), emulator)


def docker_backend(profile: Profile, agent: str, notify: Notify) -> ChosenBackend:
    check_backend(agent, "docker")
    engine, name = connect(), image_of(agent)
    contained = agent_image(engine, name) if name else None  # before minutes are spent on an image
    image = ensure_image(profile, engine, notify)
    notify(f"backend: docker (the engine at {engine.host} has {image.tag})")
    backend = DockerBackend(engine, image.worker_image, image.image, image.lock, profile, contained)
    emulator = ("emulator", *profile.emulator)
    return ChosenBackend(backend, image.lock, image.lock.adb_version, emulator, contained)
