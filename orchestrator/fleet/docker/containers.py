"""What is a container of ours, and what can be asked of one?

All of them are shut in the same way: no capability, no new privilege, a read-only root, bounded in
processor, memory and processes, and nothing of the engine's own inside.
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
    """A file or folder of this machine, read-only; or a volume: a named one, or the container's
    own, gone with it, where it has no name."""

    target: str
    source: str = ""
    volume: bool = False

    def as_asked(self, labels: Mapping[str, str]) -> dict[str, Any]:
        if not self.volume:
            return {
                "Type": "bind", "Source": self.source, "Target": self.target, "ReadOnly": True,
            }  # fmt: skip
        asked = {"Type": "volume", "Source": self.source, "Target": self.target}
        return asked if self.source else {**asked, "VolumeOptions": {"Labels": dict(labels)}}


@dataclass(frozen=True)
class Limits:
    cpus: float
    memory_mb: int  # and no swap beyond it
    pids: int


@dataclass(frozen=True)
class Spec:
    """How a container is made."""

    name: str
    image: str
    command: tuple[str, ...]
    labels: Mapping[str, str]
    network: str  # a network's name, or container:ID to share that one's
    limits: Limits
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    tmpfs: tuple[str, ...] = ()
    kvm: bool = False
    entrypoint: tuple[str, ...] = ()  # none: the image's own
    writable: bool = False  # only where what it writes is to be committed
    dns: tuple[str, ...] = ()  # none: the engine's choice


@dataclass(frozen=True)
class Seen:
    """What the engine says of a container."""

    state: str  # created | running | paused | restarting | removing | exited | dead
    exit_code: int | None = None  # None where it has not ended
    oom_killed: bool = False
    unhealthy: str = ""  # what its last health check said, where several have failed
    restarts: int = 0
    error: str = ""


@dataclass(frozen=True)
class Listed:
    id: str
    name: str
    state: str
    labels: Mapping[str, str]

    @property
    def ended(self) -> bool:
        return self.state not in _RUNNING


def create(engine: Engine, spec: Spec) -> str:
    """Its id; it does not run yet."""
    cpus = min(spec.limits.cpus, engine.cpus)
    # A device node keeps its owner's number in there: its group is given by number too.
    kvm = {
        "devices": [{"PathOnHost": KVM, "PathInContainer": KVM, "CgroupPermissions": "rw"}],
        "group_add": [str(os.stat(KVM).st_gid)],
    } if spec.kvm else {}  # fmt: skip

    def asked(client: Any) -> str:
        host = client.create_host_config(
            network_mode=spec.network,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=not spec.writable,
            tmpfs=dict.fromkeys(spec.tmpfs, "rw,nosuid,nodev,mode=1777"),
            mounts=[mount.as_asked(spec.labels) for mount in spec.mounts],
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
            use_config_proxy=False,  # everything it speaks to is near
        )
        return str(made["Id"])

    return engine.ask(f"make the container {spec.name}", asked)


def start(engine: Engine, container: str) -> None:
    engine.ask(f"start the container {_short(container)}", lambda client: client.start(container))


def stop(engine: Engine, container: str, seconds: float) -> None:
    """SIGTERM, so much time, SIGKILL; a container that is gone has stopped."""
    try:
        engine.ask(
            f"stop the container {_short(container)}",
            lambda client: client.stop(container, timeout=int(seconds)),
        )
    except NotThere:
        return


def remove(engine: Engine, container: str) -> None:
    """Killed if it runs, and its own volumes with it; one that is gone, or going, is fine."""
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


def seen(engine: Engine, container: str) -> Seen:
    told = engine.ask(
        f"look at the container {_short(container)}",
        lambda client: client.inspect_container(container),
    )
    state = told["State"]
    health = state.get("Health") or {}
    looks = health.get("Log") or [{}]
    # One that ends is called unhealthy by the engine, though nobody found it so.
    sick = health.get("Status") == "unhealthy" and health.get("FailingStreak", 0) > 0
    return Seen(
        state=state["Status"],
        exit_code=state["ExitCode"] if state["Status"] in ("exited", "dead") else None,
        oom_killed=state["OOMKilled"],
        unhealthy=looks[-1].get("Output", "").strip() or "it did not say why" if sick else "",
        restarts=told["RestartCount"],
        error=state["Error"],
    )


def address(engine: Engine, container: str, network: str) -> str:
    """Where a running container is in a network; empty where it is in none."""
    told = engine.ask(
        f"look at the container {_short(container)}",
        lambda client: client.inspect_container(container),
    )
    return str(told["NetworkSettings"]["Networks"].get(network, {}).get("IPAddress", ""))


def listed(engine: Engine, *labels: str) -> tuple[Listed, ...]:
    """Every container, running or not, that has all of these labels: NAME or NAME=VALUE."""
    found = engine.ask(
        "list containers",
        lambda client: client.containers(all=True, filters={"label": list(labels)}),
    )
    return tuple(
        Listed(one["Id"], (one["Names"] or ["/"])[0][1:], one["State"], one["Labels"] or {})
        for one in found
    )


def said(engine: Engine, container: str, count: int) -> str:
    """Its last lines, both streams as they came."""
    words = engine.ask(
        f"read the log of the container {_short(container)}",
        lambda client: client.logs(container, tail=count),
    )
    return bytes(words).decode("utf-8", "replace").strip()


def printed(engine: Engine, container: str, *, errors: bool = False) -> str:
    """All of its stdout; of its stderr where that is asked for."""
    words = engine.ask(
        f"read the log of the container {_short(container)}",
        lambda client: client.logs(container, stdout=not errors, stderr=errors),
    )
    return bytes(words).decode("utf-8", "replace")


def put(engine: Engine, container: str, folder: str, archive: bytes) -> None:
    """A tar's members, with their owners and modes, below a folder of a container or its volume."""
    engine.ask(
        f"write to {folder} of the container {_short(container)}",
        lambda client: client.put_archive(container, folder, archive),
    )


def got(engine: Engine, container: str, path: str) -> Iterator[bytes]:
    """A tar of it, in pieces; NotThere where there is none."""
    what = f"read {path} of the container {_short(container)}"
    pieces, _ = engine.ask(what, lambda client: client.get_archive(container, path))
    while piece := engine.ask(what, lambda client: next(pieces, b"")):
        yield piece


def _short(container: str) -> str:
    return container[:12] if len(container) == 64 else container
