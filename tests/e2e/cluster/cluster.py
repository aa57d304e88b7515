"""Brings a whole Kubernetes cluster up and takes it down, leaving nothing."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e import engine
from tests.e2e.cluster import build, cgroups, commands, images, pki, volumes
from tests.e2e.cluster.control_plane import API, ControlPlane
from tests.e2e.cluster.layout import (
    API_PORT,
    CONTROL,
    LOCK,
    NODES,
    Addresses,
    Facts,
    Layout,
    NoCluster,
    default_folder,
)  # fmt: skip
from tests.e2e.cluster.machine import PATH, Machine
from tests.e2e.cluster.node import PLUGINS, Node
from tests.e2e.cluster.processes import Processes
from tests.e2e.cluster.reached import Reached
from tests.e2e.cluster.register import Register
from tests.ports import even_port

PROGRAMS = {"openssl": "openssl"}
# By the program that is looked for.
NODE_PROGRAMS = {
    "containerd": "containerd", "runc": "runc", f"{PLUGINS}/bridge": "containernetworking-plugins",
    "docker-registry": "docker-registry", "conntrack": "conntrack", "iptables": "iptables",
    "ip": "iproute2", "sysctl": "procps", "mount": "mount", "nsenter": "util-linux",
}  # fmt: skip
READY_S, UID = 120.0, 10001
ROOT = Path(__file__).parents[3]
GUARD, POLICIES, TRIES = "guard", "policies", 100


class Cluster(Reached):
    """One, in a folder. As a context it is down at the end, even where its process is killed."""

    ours = True

    def __init__(self, folder: Path | None = None, nodes: int = len(NODES)) -> None:
        self.layout = Layout((folder or default_folder()).absolute())
        super().__init__(self.layout.kube, self.layout.kubeconfig)
        self.nodes = nodes
        self._processes = Processes(self.layout)
        self._register = Register()

    def __enter__(self) -> Cluster:
        self.up(owner=os.getpid())
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    @property
    def registry(self) -> str:
        """Where images are pushed, and what their names in Pods begin with."""
        return self.layout.facts().registry

    @property
    def box(self) -> str:
        """The image of the test Pods, by digest."""
        return self.layout.facts().pause

    @property
    def machine_address(self) -> str:
        """This machine, as Pods reach it."""
        return Addresses.of(self.layout).machine

    def up(self, uid: int = UID, owner: int | None = None) -> None:
        """Start it in its folder, cleared first. When its owner ends, a guard takes it down."""
        if self.nodes not in (0, len(NODES)):
            raise NoCluster(f"a cluster has 0 or {len(NODES)} nodes, not {self.nodes}")
        self._install()
        made = build.programs()
        self._sweep()
        with self._alone():
            try:
                self._clear()
                self.layout.number.write_text(str(self._register.enter(self.layout, owner)))
                if owner is not None:
                    self._program(GUARD, "guard", str(owner))
                self._up(made, uid)
            except BaseException:
                self._clear()
                self._remove()
                raise

    def _up(self, made: build.Programs, uid: int) -> None:
        self.layout.kube.parent.mkdir(exist_ok=True)
        for there, here in ((made.kube, self.layout.kube), (made.box, self.layout.box)):
            shutil.copy2(there, here)
        self.layout.kubectl.symlink_to(self.layout.kube)
        facts = self._decide(uid)
        self.layout.save(facts)
        pki.make(self.layout, facts)
        if self.nodes:
            Machine(self.layout, CONTROL).boot()
            facts = replace(facts, pause=self._open_registry(facts))
            self.layout.save(facts)
        ControlPlane(self.layout, facts).start()
        if self.nodes:
            self._start_nodes(facts)

    def down(self) -> None:
        """No process, mount, link, chain, group or file of it is left."""
        if self.layout.folder.exists():
            with self._alone():
                self._clear()
                self._remove()

    def _clear(self) -> None:
        """Nothing that its processes know is kept, so none is asked to end."""
        names = self._processes.names()
        for name in (*NODES, CONTROL):
            if f"{name}.machine" in names:
                Machine(self.layout, name).halt()
        for name in names:
            self._processes.end(name, how=signal.SIGKILL)
        if os.getuid() == 0:
            cgroups.remove(f"/emufarm-{self.layout.tag}")
        for one in self.layout.folder.iterdir():
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            elif one.name != LOCK:
                one.unlink()

    def _remove(self) -> None:
        self._register.leave(self.layout)
        (self.layout.folder / LOCK).unlink()
        self.layout.folder.rmdir()

    def _sweep(self) -> None:
        """Those whose owner was killed, and their guard with it."""
        for folder in self._register.dead():
            dead = Cluster(folder)
            if folder == self.layout.folder or dead._processes.get(GUARD) is not None:
                continue
            if folder.exists():
                print(f"Clearing {folder}, a cluster whose owner is dead ...", file=sys.stderr)
                dead.down()
            else:
                self._register.leave(dead.layout)

    def push(self, name: str, made: images.Image) -> str:
        return images.push(self.registry, name, made)

    def add_volumes(self, count: int = volumes.COUNT) -> None:
        self.apply(*volumes.make(self.layout, self.layout.facts().uid, count))

    def stop_node(self, name: str, *, kubelet_only: bool = False) -> None:
        node = self._node(name)
        node.stop_kubelet() if kubelet_only else node.stop()

    def start_node(self, name: str) -> None:
        self._node(name).start()

    @contextmanager
    def cut(self, one: dict[str, Any], other: dict[str, Any]) -> Iterator[None]:
        """No packet passes between these two Pods, not even of an open connection."""
        ends = [pod["status"]["podIP"] for pod in (one, other)]
        rules = [
            f"FORWARD -s {source} -d {target} -j DROP" for source, target in (ends, ends[::-1])
        ]
        nodes = [Machine(self.layout, name) for name in NODES]
        for node in nodes:
            commands.run_all([f"iptables -t mangle -I {rule}" for rule in rules], node.enter())
        try:
            yield
        finally:
            for node in nodes:
                commands.run_all([f"iptables -t mangle -D {rule}" for rule in rules], node.enter())

    def kill_container(
        self, pod: dict[str, Any], name: str, how: signal.Signals = signal.SIGKILL
    ) -> None:
        """Its first process, by a signal from outside."""
        first = self.first_process(pod, name)
        if first is None:
            raise NoCluster(f"the container {name} of {pod['metadata']['name']} does not run")
        os.kill(first, how)

    @staticmethod
    def first_process(pod: dict[str, Any], name: str) -> int | None:
        """Of this container, as this machine numbers it; None where it has ended."""
        status = pod["status"]
        (id,) = (
            one["containerID"].rpartition("/")[2]
            for one in (*status.get("initContainerStatuses", ()), *status["containerStatuses"])
            if one["name"] == name
        )
        return next((pid for pid in cgroups.processes(id) if cgroups.is_first(pid)), None)

    @property
    def control_address(self) -> str:
        """The machine of the control plane, as this machine reaches it."""
        return Addresses.of(self.layout).control

    @property
    def control_network(self) -> tuple[str, ...]:
        """What stands before a command that shall reach every Pod."""
        return tuple(Machine(self.layout, CONTROL).enter_network())

    def in_control(self, *command: str) -> str:
        """What a command prints on the machine of the control plane, which reaches every Pod."""
        return commands.run(*Machine(self.layout, CONTROL).enter(), *command).stdout

    def stop_api(self) -> None:
        self._processes.end(API, how=signal.SIGKILL)

    def start_api(self) -> None:
        ControlPlane(self.layout, self.layout.facts()).start_part(API)

    def wait_until_ready(self, *names: str, seconds: float = READY_S) -> None:
        needed = [f"{name}.kubelet" for name in names]
        self._processes.wait("Ready nodes", lambda: set(names) <= self.ready(), seconds, *needed)

    def _node(self, name: str) -> Node:
        facts = self.layout.facts()
        if name not in NODES[: facts.nodes]:
            raise NoCluster(f"no node is named {name}: {', '.join(NODES[: facts.nodes]) or 'none'}")
        return Node(self.layout, facts, name)

    def _install(self) -> None:
        if self.nodes and os.getuid() != 0:
            raise NoCluster("nodes need root")
        try:
            engine.install({**PROGRAMS, **(NODE_PROGRAMS if self.nodes else {})})
        except engine.NoEngine as error:
            raise NoCluster(str(error)) from error

    def _decide(self, uid: int) -> Facts:
        if self.nodes:
            api = f"{Addresses.of(self.layout).control}:{API_PORT}"
            registry = f"localhost:{even_port()}"
            return Facts(self.nodes, api, "127.0.0.1:2379", "127.0.0.1:2380", registry, uid=uid)
        first, second = even_port(), even_port()
        etcd, peer = f"127.0.0.1:{first}", f"127.0.0.1:{first + 1}"
        return Facts(0, f"127.0.0.1:{second}", etcd, peer, "", uid=uid)

    def _open_registry(self, facts: Facts) -> str:
        """On loopback for whoever pushes, and beside the control plane for the nodes."""
        port = facts.registry.rpartition(":")[2]
        inside, outside = Addresses.of(self.layout).control_for_nodes, "127.0.0.1"
        storage = self.layout.folder / "registry"
        storage.mkdir()
        for name, address in (("registry", outside), ("registry-inside", inside)):
            settings = self.layout.folder / f"{name}.json"
            images.write_registry_settings(settings, storage, f"{address}:{port}")
            command: Sequence[str | Path] = ["docker-registry", "serve", settings]
            if name == "registry":
                self._processes.start(name, command, {**os.environ, "PATH": PATH})
            else:
                Machine(self.layout, CONTROL).start(name, command)
        self._processes.wait(
            "the registry", lambda: images.answers(facts.registry), READY_S, "registry"
        )
        box = images.image(
            {"box": self.layout.box.read_bytes()}, ["/box"], ["pause"], platform.machine()
        )
        return images.push(facts.registry, "box", box)

    def _start_nodes(self, facts: Facts) -> None:
        self.kubectl(
            "create", "clusterrolebinding", "emufarm-test-proxy",
            "--clusterrole=system:node-proxier", "--user=system:kube-proxy", check=False,
        )  # fmt: skip
        self.apply(volumes.storage_class(), *volumes.make(self.layout, facts.uid))
        names = NODES[: facts.nodes]
        for name in names:
            Node(self.layout, facts, name).start()
        self._program(POLICIES, "policies")
        self.wait_until_ready(*names)

    def _program(self, name: str, *words: str) -> None:
        """A command of ours that stays."""
        folder = ["--folder", str(self.layout.folder)]
        command = [sys.executable, "-m", "tests.e2e.cluster", *folder, *words]
        self._processes.start(name, command, {**os.environ, "PYTHONPATH": str(ROOT)})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One changes it at a time; whoever was waited for may have taken the folder away."""
        path = self.layout.folder / LOCK
        for _ in range(TRIES):
            self.layout.make()
            with path.open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
                    yield
                    return
        raise NoCluster(f"others keep making and removing {self.layout.folder}")
