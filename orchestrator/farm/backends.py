"""On what does a run's fleet run, and with which image? Chosen before anything is provisioned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..agent.spec import check_backend, image_of
from ..device.adb import adb_version
from ..errors import EmufarmError, UsageError
from ..fleet.docker.agents import AgentImage, agent_image
from ..fleet.docker.engine import Engine, EngineAbsent, connect
from ..image.docker_image import DockerImage, ensure_image
from ..image.embedded import embedded_image, emulator, noise_options
from ..image.golden_cache import GoldenImage
from ..pins.image_lock import ImageLock
from ..pins.profile import Profile

BACKENDS = ("auto", "local", "docker")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Local:
    """Phones and workers are processes of this machine."""

    image: GoldenImage
    agent: None = None
    name = "local"

    @property
    def lock(self) -> ImageLock:
        return self.image.lock

    @property
    def adb_version(self) -> str:
        return adb_version()

    def emulator(self, profile: Profile, noise: int | None) -> list[str]:
        """The first slot's command, for the record."""
        return emulator(profile, noise)(0)


@dataclass(frozen=True)
class Docker:
    """Phones and workers are containers of one engine."""

    image: DockerImage
    engine: Engine
    agent: AgentImage | None = None  # where the agent comes in one
    name = "docker"

    @property
    def lock(self) -> ImageLock:
        return self.image.lock

    @property
    def adb_version(self) -> str:
        return self.image.lock.adb_version

    def emulator(self, profile: Profile, noise: int | None) -> list[str]:
        return ["emulator", *profile.emulator, *noise_options(noise, 0)]


Backend = Local | Docker


def chosen(word: str, profile: Profile, agent: str, say: Say) -> Backend:
    """UsageError where it cannot be had. `auto` is Docker where an engine answers and the image is
    there or can be built, else local; it says which, and why."""
    check_backend_name(word)
    if word == "auto":
        return _whichever(profile, agent, say)
    return _docker(profile, agent, say) if word == "docker" else _local(profile, agent, say)


def check_backend_name(name: str) -> None:
    """UsageError where there is no such backend."""
    if name not in BACKENDS:
        raise UsageError(f"there is no backend {name!r}; choose one of {', '.join(BACKENDS)}")


def _whichever(profile: Profile, agent: str, say: Say) -> Backend:
    if image_of(agent) or not profile.simulated:
        return _docker(profile, agent, say)
    try:
        found = _docker(profile, agent, say)
    except EngineAbsent as error:
        say(f"backend: local ({error.why})")
    except EmufarmError as error:
        say(f"backend: local ({error})")
    else:
        say(f"backend: docker (the engine at {found.engine.host} has {found.image.tag})")
        return found
    return _local(profile, agent, say)


def _local(profile: Profile, agent: str, say: Say) -> Local:
    check_backend(agent, "local")
    if not profile.simulated:
        raise UsageError(
            f"{profile.name} is no simulated phone, and BACKEND=local has no other: use "
            "BACKEND=docker"
        )
    return Local(embedded_image(profile, say))


def _docker(profile: Profile, agent: str, say: Say) -> Docker:
    check_backend(agent, "docker")
    engine, contained = connect(), image_of(agent)
    its = agent_image(engine, contained) if contained else None  # before minutes are spent
    return Docker(ensure_image(profile, engine, say), engine, its)
