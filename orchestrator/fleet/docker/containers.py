"""Containers on the Docker engine: made, started, inspected, read, stopped, found, removed.

All of them are confined in the same way: no capability, no new privilege, a read-only root, limits
on processor, memory and processes, and nothing of the engine's own inside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .engine import Engine, EngineRefused, NotThere

KVM = "/dev/kvm"
_MB = 1 << 20
_LOG = {"type": "json-file", "config": {"max-size": "10m", "max-file": "1"}}
_RUNNING = frozenset({"created", "running", "paused", "restarting"})


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine, read-only; or a volume, which without a name is the
    container's own and is removed with it."""

    target: str
    source: str = ""
    volume: bool = False

    def request(self, labels: Mapping[str, str]) -> dict[str, Any]:
        if not self.volume:
            return {
                "Type": "bind", "Source": self.source, "Target": self.target, "ReadOnly": True,
            }  # fmt: skip
        volume = {"Type": "volume", "Source": self.source, "Target": self.target}
        return volume if self.source else {**volume, "VolumeOptions": {"Labels": dict(labels)}}


@dataclass(frozen=True)
class ContainerLimits:
    cpus: float
    memory_mb: int  # and no swap beyond it
    pids: int


@dataclass(frozen=True)
class ContainerSpec:
    """What a container is made from."""

    name: str
    image: str
    command: tuple[str, ...]
    labels: Mapping[str, str]
    network: str  # a network's name, or container:ID to share that one's
    limits: ContainerLimits
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    tmpfs: tuple[str, ...] = ()
    kvm: bool = False
    entrypoint: tuple[str, ...] = ()  # empty: the image's own
    writable: bool = False  # only where its root is to be committed
    dns: tuple[str, ...] = ()  # empty: the engine's choice


@dataclass(frozen=True)
class ContainerState:
    """What the engine knows of a container."""

    state: str  # created | running | paused | restarting | removing | exited | dead
    exit_code: int | None = None  # None where it has not ended
    oom_killed: bool = False
    unhealthy: str = ""  # the output of its last health check, where several failed
    restarts: int = 0
    error: str = ""


@dataclass(frozen=True)
class FoundContainer:
    id: str
    name: str
    state: str
    labels: Mapping[str, str]

    @property
    def ended(self) -> bool:
        return self.state not in _RUNNING


def create(engine: Engine, spec: ContainerSpec) -> str:
    """Makes it and returns its id; it does not run yet."""
    cpus = min(spec.limits.cpus, engine.cpus)
    # A device node keeps its owner's number in the container: its group is given by number too.
    kvm = {
        "devices": [{"PathOnHost": KVM, "PathInContainer": KVM, "CgroupPermissions": "rw"}],
        "group_add": [str(os.stat(KVM).st_gid)],
    } if spec.kvm else {}  # fmt: skip

    def request(client: Any) -> str:
        host = client.create_host_config(
            network_mode=spec.network,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=not spec.writable,
            tmpfs=dict.fromkeys(spec.tmpfs, "rw,nosuid,nodev,mode=1777"),
            mounts=[mount.request(spec.labels) for mount in spec.mounts],
            nano_cpus=int(cpus * 1e9),
            mem_limit=spec.limits.memory_mb * _MB,
            memswap_limit=spec.limits.memory_mb * _MB,
            pids_limit=spec.limits.pids,
            log_config=_LOG,
            dns=list(spec.dns) or None,
            **kvm,
        )
        made = client.create_container(
            spec.image,
            list(spec.command),
            name=spec.name,
            environment=dict(spec.env),
            labels=dict(spec.labels),
            host_config=host,
            entrypoint=list(spec.entrypoint) or None,
            use_config_proxy=False,  # it speaks to this machine only
        )
        return str(made["Id"])

    return engine.ask(f"make the container {spec.name}", request)


def start(engine: Engine, container: str) -> None:
    engine.ask(f"start the container {_short(container)}", lambda client: client.start(container))


def stop(engine: Engine, container: str, seconds: float) -> None:
    """Sends SIGTERM, and SIGKILL after so many seconds; a container that is gone has stopped."""
    try:
        engine.ask(
            f"stop the container {_short(container)}",
            lambda client: client.stop(container, timeout=int(seconds)),
        )
    except NotThere:
        return


def remove(engine: Engine, container: str) -> None:
    """Kills it if it runs, and removes it with its own volumes; one that is gone is fine."""
    try:
        engine.ask(
            f"remove the container {_short(container)}",
            lambda client: client.remove_container(container, v=True, force=True),
        )
    except NotThere:
        return
    except EngineRefused as error:
        if "already in progress" not in str(error):
            raise


def inspect(engine: Engine, container: str) -> ContainerState:
    """NotThere where there is none."""
    found = engine.ask(
        f"look at the container {_short(container)}",
        lambda client: client.inspect_container(container),
    )
    state = found["State"]
    health = state.get("Health") or {}
    checks = health.get("Log") or [{}]
    # The engine calls one that ends unhealthy too, though no check failed.
    failing = health.get("Status") == "unhealthy" and health.get("FailingStreak", 0) > 0
    return ContainerState(
        state=state["Status"],
        exit_code=state["ExitCode"] if state["Status"] in ("exited", "dead") else None,
        oom_killed=state["OOMKilled"],
        unhealthy=checks[-1].get("Output", "").strip() or "without output" if failing else "",
        restarts=found["RestartCount"],
        error=state["Error"],
    )


def address(engine: Engine, container: str, network: str) -> str:
    """A running container's address in a network; empty where it is not in it."""
    found = engine.ask(
        f"look at the container {_short(container)}",
        lambda client: client.inspect_container(container),
    )
    return str(found["NetworkSettings"]["Networks"].get(network, {}).get("IPAddress", ""))


def find(engine: Engine, *labels: str) -> tuple[FoundContainer, ...]:
    """Every container, running or not, that has all of these labels: NAME or NAME=VALUE."""
    found = engine.ask(
        "list containers",
        lambda client: client.containers(all=True, filters={"label": list(labels)}),
    )
    return tuple(
        FoundContainer(one["Id"], (one["Names"] or ["/"])[0][1:], one["State"], one["Labels"] or {})
        for one in found
    )


def log_tail(engine: Engine, container: str, count: int) -> str:
    """Its last lines, of both streams in their order."""
    lines = engine.ask(
        f"read the log of the container {_short(container)}",
        lambda client: client.logs(container, tail=count),
    )
    return bytes(lines).decode("utf-8", "replace").strip()


def output(engine: Engine, container: str, *, errors: bool = False) -> str:
    """Its whole stdout, or with `errors` its whole stderr."""
    lines = engine.ask(
        f"read the log of the container {_short(container)}",
        lambda client: client.logs(container, stdout=not errors, stderr=errors),
    )
    return bytes(lines).decode("utf-8", "replace")


def upload(engine: Engine, container: str, folder: str, archive: bytes) -> None:
    """Unpacks a tar, with owners and modes, below a folder of a container or its volume."""
    engine.ask(
        f"write to {folder} of the container {_short(container)}",
        lambda client: client.put_archive(container, folder, archive),
    )


def download(engine: Engine, container: str, path: str) -> Iterator[bytes]:
    """A tar of the path, in pieces; NotThere where there is none."""
    what = f"read {path} of the container {_short(container)}"
    pieces, _ = engine.ask(what, lambda client: client.get_archive(container, path))
    while piece := engine.ask(what, lambda client: next(pieces, b"")):
        yield piece


def _short(container: str) -> str:
    return container[:12] if len(container) == 64 else container
