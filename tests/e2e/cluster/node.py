"""Runs a node: containerd, kubelet and kube-proxy on a machine of their own."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from tests.e2e.cluster import cgroups, commands
from tests.e2e.cluster.layout import (
    POD_NETWORK,
    Addresses,
    Facts,
    Layout,
    NoCluster,
)
from tests.e2e.cluster.machine import Machine
from tests.e2e.cluster.processes import Processes

SOCKET, PLUGINS = "/run/containerd/containerd.sock", "/usr/lib/cni"
RUNTIME_S = 60.0


class Node:
    """One, by name."""

    def __init__(self, layout: Layout, facts: Facts, name: str) -> None:
        self.name = name
        self.machine = Machine(layout, name)
        self._layout = layout
        self._facts = facts
        self._processes = Processes(layout)
        self._folder = layout.node(name)
        self._addresses = Addresses.of(layout)

    @property
    def _group(self) -> str:
        return f"/emufarm-{self._layout.tag}/{self.name}"

    def start(self) -> None:
        """Whatever of it does not run; as after a power failure it has its disk, and no more."""
        self._write_settings()
        if self.machine.running is None:
            cgroups.remove(self._group)
        cgroups.make(self._group)
        self.machine.boot()
        self._start("containerd", "containerd", "--config", self._folder / "containerd.toml")
        listening = [*self.machine.enter(), "ctr", "--address", SOCKET, "version"]
        self._processes.wait(
            f"containerd of {self.name}",
            lambda: commands.run(*listening, check=False).returncode == 0,
            RUNTIME_S,
            f"{self.name}.containerd",
        )
        self._start(
            "kubelet",
            self._layout.kube,
            "kubelet",
            f"--config={self._folder}/kubelet.json",
            f"--kubeconfig={self._layout.pki}/{self.name}.conf",
            f"--hostname-override={self.name}",
            f"--node-ip={self._addresses.node(self.name)}",
        )
        self._start(
            "kube-proxy", self._layout.kube, "kube-proxy", f"--config={self._folder}/proxy.json"
        )

    def stop(self) -> None:
        """Lost, with its containers, at once."""
        self.machine.halt()
        for part in ("containerd", "kubelet", "kube-proxy"):
            self._processes.end(f"{self.name}.{part}")
        cgroups.remove(self._group)

    def stop_kubelet(self) -> None:
        """Killed; its containers live on."""
        self._processes.end(f"{self.name}.kubelet", how=signal.SIGKILL)

    def _start(self, part: str, *command: str | Path) -> None:
        self.machine.start(f"{self.name}.{part}", command)

    def _write_settings(self) -> None:
        (self._folder / "net.d").mkdir(parents=True, exist_ok=True)
        (self._folder / "net.d" / "10-bridge.conflist").write_text(json.dumps(self._network()))
        (self._folder / "containerd.toml").write_text(self._containerd())
        # The one place of the images' names. As a mirror it would be the first of two, and of an
        # image that it lacks one would hear that the other, which nobody serves, does not answer.
        registry = self._facts.registry
        place = self._folder / "registries" / registry
        place.mkdir(parents=True, exist_ok=True)
        inside = f"{self._addresses.control_for_nodes}:{registry.rpartition(':')[2]}"
        # Said twice: containerd 1.6 passes over a `server` without a `host`.
        text = f'server = "http://{inside}"\n[host."http://{inside}"]\n'
        (place / "hosts.toml").write_text(text)
        (self._folder / "kubelet.json").write_text(json.dumps(self._kubelet()))
        (self._folder / "proxy.json").write_text(json.dumps(self._proxy()))

    def _network(self) -> dict[str, Any]:
        """Addresses are kept as they are within the cluster: policies go by them."""
        ranges = [[{"subnet": self._addresses.pods(self.name)}]]
        addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
        bridge = {
            "type": "bridge", "bridge": "pods", "isGateway": True, "ipMasq": False,
            "hairpinMode": True, "ipam": addresses,
        }  # fmt: skip
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}

    def _containerd(self) -> str:
        kind = commands.run("stat", "-f", "-c", "%T", self._folder).stdout.strip()
        snapshotter = "native" if kind == "overlayfs" else "overlayfs"
        if not self._facts.pause:
            raise NoCluster("no pause image was pushed")
        return f"""
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{self._facts.pause}"
# Root may not lower a process's oom_score_adj everywhere.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{PLUGINS}"
conf_dir = "{self._folder}/net.d"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{self._folder}/registries"
"""

    def _kubelet(self) -> dict[str, Any]:
        pki = self._layout.pki
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "address": self._addresses.node(self.name),
            "authentication": {
                "anonymous": {"enabled": False}, "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{pki}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{pki}/{self.name}.crt",
            "tlsPrivateKeyFile": f"{pki}/{self.name}.key",
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "cgroupDriver": "cgroupfs", "cgroupRoot": self._group, "enforceNodeAllocatable": [],
            "failSwapOn": False, "oomScoreAdj": 0, "serializeImagePulls": False,
            # A full disk is the machine's affair, not a test's.
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            # No cluster DNS runs: whoever asks there is refused at once.
            "resolvConf": "", "clusterDNS": [self._addresses.control_for_nodes],
            "nodeStatusUpdateFrequency": "4s", "nodeLeaseDurationSeconds": 10,
        }  # fmt: skip

    def _proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": f"{self._layout.pki}/proxy.conf"},
            "mode": "iptables", "clusterCIDR": POD_NETWORK, "hostnameOverride": self.name,
            "oomScoreAdj": 0,
            # The table of connections is the machine's; none of its sizes is changed.
            "conntrack": {
                "maxPerCore": 0, "min": 0,
                "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
            },
        }  # fmt: skip
