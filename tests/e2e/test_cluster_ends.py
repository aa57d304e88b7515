"""A test cluster that is down has left nothing, whoever took it down."""

from __future__ import annotations

import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.cluster import cgroups, commands
from tests.e2e.cluster.cluster import GUARD, ROOT, Cluster
from tests.e2e.cluster.layout import NUMBERS, Layout, NoCluster
from tests.e2e.cluster.machine import SYSCTLS
from tests.e2e.cluster.processes import Processes, wait_for
from tests.e2e.cluster.register import Register
from tests.programs import started

pytestmark = pytest.mark.kubernetes

# A Docker engine of another suite may come and go meanwhile.
ENGINES = re.compile(r"docker|emufarm-engine|emufarm0\b|\bbr-|veth|10\.21[34]\.", re.IGNORECASE)
PLACES = ("/var/lib/cni", "/var/log/pods", "/var/log/containers", "/var/lib/kubelet", "/run/netns")
SETTINGS = (*SYSCTLS, "net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max")
UP_S, DOWN_S = 400.0, 60.0  # nodes and control plane have two minutes each


@dataclass(frozen=True)
class Seen:
    """What a machine has that a cluster could leave."""

    mounts: frozenset[str]
    links: frozenset[str]
    rules: frozenset[str]
    places: frozenset[str]
    settings: tuple[str, ...]

    @classmethod
    def now(cls) -> Seen:
        def lines(text: str) -> frozenset[str]:
            return frozenset(one for one in text.splitlines() if not ENGINES.search(one))

        links = commands.run("ip", "-o", "link", "show").stdout
        rules = re.sub(
            r"\[\d+:\d+\]|^#.*$", "", commands.run("iptables-save").stdout, flags=re.MULTILINE
        )
        mounts = (one.split()[4] for one in Path("/proc/self/mountinfo").read_text().splitlines())
        return cls(
            lines("\n".join(mounts)),
            lines("\n".join(one.split()[1] for one in links.splitlines())),
            lines(rules),
            frozenset(one for one in PLACES if Path(one).exists()),
            tuple(at.read_text() for one in SETTINGS if (at := Path("/proc/sys", one)).exists()),
        )


def of_machines() -> set[str]:
    """Every process that lives in a process namespace that is not ours."""
    ours = os.readlink("/proc/self/ns/pid")
    return {pid for pid in _numbers() if (space := _space(pid)) and space != ours}


def _numbers() -> list[str]:
    return [one for one in os.listdir("/proc") if one.isdigit()]


def _space(pid: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def of_cluster(cluster: Cluster) -> set[str]:
    """Processes whose command or open program names the cluster's folder."""
    found = set()
    for pid in _numbers():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if pid != str(os.getpid()) and str(cluster.layout.folder).encode() in command:
            found.add(pid)
    return found


def spaces(cluster: Cluster) -> set[str]:
    """The process namespaces of its machines."""
    inside = of_machines()
    return {
        space for pid in of_cluster(cluster) if pid in inside and (space := _space(pid)) is not None
    }


def left_in(found: set[str]) -> list[str]:
    return [pid for pid in of_machines() if _space(pid) in found]


def assert_nothing_is_left(cluster: Cluster, before: Seen, found: set[str]) -> None:
    after = Seen.now()
    assert after.mounts - before.mounts == set()
    assert after.links - before.links == set()
    assert after.rules - before.rules == set()
    assert after.places == before.places
    assert after.settings == before.settings
    assert of_cluster(cluster) == set()
    assert left_in(found) == []
    assert cgroups.groups(f"/emufarm-{cluster.layout.tag}") == []
    assert not cluster.layout.folder.exists()


def a_running_pod(cluster: Cluster) -> None:
    cluster.kubectl("run", "left", f"--image={cluster.box}", "--command", "--", "/box", "pause")
    cluster.kubectl("wait", "pod/left", "--for=condition=Ready", "--timeout=90s")


def test_down_leaves_nothing(tmp_path: Path) -> None:
    """Of a cluster with a Pod at work and a policy in force."""
    before = Seen.now()
    cluster = Cluster(tmp_path / "cluster")
    with cluster:
        a_running_pod(cluster)
        found = spaces(cluster)
        assert len(found) == 3  # the control plane's, and a node's each
        assert len(left_in(found)) > 10
    assert_nothing_is_left(cluster, before, found)


def test_a_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    """A guard sees it end, even where it could not say goodbye."""
    before = Seen.now()
    cluster = Cluster(tmp_path / "cluster")
    folder = str(cluster.layout.folder)
    command = (sys.executable, "-m", "tests.e2e.cluster", "--folder", folder, "run")
    with started(*command, cwd=ROOT) as owner:
        assert "answers" in owner.first_line(UP_S)
        a_running_pod(cluster)
        found = spaces(cluster)
        owner.kill()
    wait_for("the guard", lambda: not cluster.layout.folder.exists(), DOWN_S)
    wait_for("its own end", lambda: not of_cluster(cluster), DOWN_S)
    assert_nothing_is_left(cluster, before, found)


def test_a_cluster_whose_owner_and_guard_were_killed_is_cleared_by_the_next(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster", nodes=0)
    words = ("--folder", str(cluster.layout.folder), "run", "--nodes", "0")
    with started(sys.executable, "-m", "tests.e2e.cluster", *words, cwd=ROOT) as owner:
        assert "answers" in owner.first_line(UP_S)
        Processes(cluster.layout).end(GUARD, how=signal.SIGKILL)
    assert of_cluster(cluster)
    with Cluster(tmp_path / "next", nodes=0):
        assert of_cluster(cluster) == set()
        assert not cluster.layout.folder.exists()


def test_two_clusters_have_two_numbers(tmp_path: Path) -> None:
    """And each is free for another once its cluster is down."""
    register = Register(tmp_path / "register")
    layouts = [Layout(tmp_path / str(number)) for number in range(NUMBERS)]
    for one in layouts:
        one.folder.mkdir()
    numbers = {register.enter(one, None) for one in layouts}
    assert numbers == set(range(NUMBERS))
    with pytest.raises(NoCluster, match="take some down"):
        register.enter(Layout(tmp_path / "more"), None)
    freed = register.enter(layouts[7], None)
    register.leave(layouts[7])
    assert register.enter(Layout(tmp_path / "more"), None) == freed


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(Exception, match="no cluster's folder"):
        Cluster(tmp_path, nodes=0).up()
    assert (tmp_path / "precious").exists()
