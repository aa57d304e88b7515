"""Names every file and address of a test cluster, once.

FOLDER/
  lock                    held by the one who changes the cluster
  number                  of its addresses
  cluster.json            the facts that other commands need
  bin/kube, bin/box       every part of Kubernetes; what images contain
  kubectl                 the same as bin/kube, by a name that it answers to
  admin.kubeconfig        for a person and for tests
  pki/                    keys, certificates, kubeconfigs of the parts
  processes/NAME.json     who runs
  logs/NAME.log           what it said
  etcd/ registry/ volumes/
  nodes/NAME/lib, log     what the node has as /var/lib and /var/log
  nodes/NAME/*            its settings
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

NODES = ("node-a", "node-b")
CONTROL = "control"  # the machine of the control plane, where there are nodes
POD_NETWORK, SERVICE_NETWORK, API_SERVICE = "10.244.0.0/16", "10.96.0.0/16", "10.96.0.1"
API_PORT = 6443
NUMBERS = 256  # of clusters that may be up at once: each has a network of its own
LOCK = "cluster.lock"  # also tells a cluster's folder, which is emptied, from any other
# Whatever a node has of its own hides the machine's.
HIDDEN = ("/run", "/var/run", "/var/lib", "/var/log", "/proc", "/sys")


class NoCluster(Exception):
    """This machine cannot run one, or it does not come up, and why."""


def default_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"emufarm-cluster-{os.getuid()}"


@dataclass(frozen=True)
class Facts:
    """What is decided when a cluster is made."""

    nodes: int
    api: str  # where this machine reaches the API server
    etcd: str
    etcd_peer: str
    registry: str  # where this machine pushes images, and what their names begin with
    pause: str = ""
    uid: int = 10001


@dataclass(frozen=True)
class Layout:
    """The tree above."""

    folder: Path

    def make(self) -> None:
        if any(self.folder.resolve().is_relative_to(place) for place in HIDDEN):
            raise NoCluster(f"{self.folder}: choose a folder outside {', '.join(HIDDEN)}")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.folder.stat().st_uid != os.getuid():
            raise NoCluster(f"{self.folder} belongs to another user")
        there = {one.name for one in self.folder.iterdir()}
        if there and LOCK not in there:
            raise NoCluster(f"{self.folder} is not empty, and no cluster's folder")

    @property
    def tag(self) -> str:
        """Tells this cluster's links and cgroups from another's."""
        return hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:6]

    @property
    def number(self) -> Path:
        return self.folder / "number"

    @property
    def kube(self) -> Path:
        return self.folder / "bin" / "kube"

    @property
    def box(self) -> Path:
        return self.folder / "bin" / "box"

    @property
    def kubectl(self) -> Path:
        return self.folder / "kubectl"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def volumes(self) -> Path:
        return self.folder / "volumes"

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def node(self, name: str) -> Path:
        return self.folder / "nodes" / name

    @property
    def _facts(self) -> Path:
        return self.folder / "cluster.json"

    def save(self, facts: Facts) -> None:
        self._facts.write_text(json.dumps(asdict(facts), indent=2))

    def facts(self) -> Facts:
        try:
            return Facts(**json.loads(self._facts.read_text()))
        except FileNotFoundError:
            raise NoCluster(f"no cluster is up in {self.folder}") from None


@dataclass(frozen=True)
class Addresses:
    """Who has which address; a cluster with nodes has 10.217.NUMBER.0/24 and the Pods' network."""

    number: int

    @classmethod
    def of(cls, layout: Layout) -> Addresses:
        return cls(int(layout.number.read_text()))

    @property
    def machine(self) -> str:
        """This machine, as nodes and Pods reach it."""
        return f"10.217.{self.number}.1"

    @property
    def control(self) -> str:
        """The control plane, as this machine reaches it."""
        return f"10.217.{self.number}.2"

    @property
    def control_for_nodes(self) -> str:
        return f"10.217.{self.number}.65"

    def node(self, name: str) -> str:
        return f"10.217.{self.number}.{71 + NODES.index(name)}"

    @staticmethod
    def pods(name: str) -> str:
        return f"10.244.{1 + NODES.index(name)}.0/24"
