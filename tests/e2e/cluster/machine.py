"""Gives a node, or the control plane, network, mounts and process numbers of its own.

A machine is the namespaces of one first process, which does nothing but reap. When that ends, the
kernel ends every process in it and takes away its mounts, links, routes and packet filters: so a
node is lost as when its power fails, and nothing can be left of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.cluster import commands
from tests.e2e.cluster.layout import (
    CONTROL,
    NODES,
    Addresses,
    Layout,
    NoCluster,
)  # fmt: skip
from tests.e2e.cluster.processes import Processes, Running

GONE_S = 20.0
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# The kubelet wants these so, and would set them for the whole machine, for good.
SYSCTLS = {
    "vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10,
    "kernel/panic_on_oops": 1, "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}  # fmt: skip


class Machine:
    """One of them, by name."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = name
        self._layout = layout
        self._processes = Processes(layout)
        self._addresses = Addresses.of(layout)

    @property
    def _first(self) -> str:
        return f"{self.name}.machine"

    @property
    def running(self) -> Running | None:
        return self._processes.get(self._first)

    def enter(self) -> list[str]:
        """What stands before a command that runs in it."""
        if (first := self.running) is None:
            raise NoCluster(f"{self.name} does not run")
        return ["nsenter", "--target", str(first.pid), "--net", "--mount", "--pid", "--"]

    def enter_network(self) -> list[str]:
        """The same, for a command that stays a child of ours and sees our files."""
        return ["nsenter", "--target", self.enter()[2], "--net", "--"]

    def start(self, part: str, command: Sequence[str | Path]) -> None:
        env = {**os.environ, "PATH": PATH}
        self._processes.start(part, [*self.enter(), *command], env, entered=True)

    def boot(self) -> None:
        """Nothing, where it runs."""
        if self.running is not None:
            return
        flags = ["--net", "--mount", "--pid", "--mount-proc", "--kill-child", "--fork"]
        command = ["unshare", *flags, "--", str(self._layout.box), "pause"]
        self._processes.start(self._first, command, entered=True)
        try:
            if self.name == CONTROL:
                self._wire_control()
            else:
                self._mount()
                self._wire_node()
        except BaseException:
            self.halt()
            raise

    def halt(self) -> None:
        """All that runs in it ends at once, unasked; returns when its link is gone too."""
        self._processes.end(self._first)
        if self.name == CONTROL:
            link = ["ip", "link", "show", self._outer_link]
            self._processes.wait(
                f"{self._outer_link} to go",
                lambda: commands.run(*link, check=False).returncode != 0,
                GONE_S,
            )

    @property
    def _outer_link(self) -> str:
        return f"emufarm{self._layout.tag}"

    def _mount(self) -> None:
        folder = self._layout.node(self.name)
        lines = ["mount --make-rshared /", "mount -t tmpfs -o mode=755 emufarm-run /run"]
        for name in ("lib", "log"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --bind {folder}/{name} /var/{name}")
        for name, value in SYSCTLS.items():
            if Path("/proc/sys", name).exists():
                fake = folder / "sysctl" / name.replace("/", ".")
                fake.parent.mkdir(exist_ok=True)
                fake.write_text(f"{value}\n")
                lines.append(f"mount --bind {fake} /proc/sys/{name}")
        commands.run_all(lines, self.enter())

    def _wire_control(self) -> None:
        """A link to this machine, a bridge for the nodes; this machine forwards nothing."""
        first, at = self.enter()[2], self._addresses
        outer = [
            f"ip link add {self._outer_link} type veth peer name outside netns {first}",
            f"ip address add {at.machine}/30 dev {self._outer_link}",
            f"ip link set {self._outer_link} up",
        ]
        inner = [
            "ip link set lo up",
            f"ip address add {at.control}/30 dev outside",
            "ip link set outside up",
            "ip link add nodes type bridge",
            f"ip address add {at.control_for_nodes}/26 dev nodes",
            "ip link set nodes up",
            "sysctl -q -w net.ipv4.ip_forward=1",
            "iptables -t nat -A POSTROUTING -o outside -j MASQUERADE",
        ]
        commands.run_all(outer)
        commands.run_all(inner, self.enter())

    def _wire_node(self) -> None:
        """A link to the bridge; Pods are reached by route and keep their addresses."""
        control = Machine(self._layout, CONTROL)
        first, at = self.enter()[2], self._addresses
        address, pods = at.node(self.name), at.pods(self.name)
        outer = [
            f"ip link add {self.name} type veth peer name uplink netns {first}",
            f"ip link set {self.name} master nodes up",
            f"ip route replace {pods} via {address}",
        ]
        inner = [
            "ip link set lo up",
            f"ip address add {address}/26 dev uplink",
            "ip link set uplink up",
            f"ip route add default via {at.control_for_nodes}",
            *(f"ip route add {at.pods(n)} via {at.node(n)}" for n in NODES if n != self.name),
            "sysctl -q -w net.ipv4.ip_forward=1",
        ]
        # Entered by process, which the other end's number is not known by in there.
        commands.run_all(outer, control.enter_network())
        commands.run_all(inner, self.enter())
