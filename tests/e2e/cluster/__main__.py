"""The commands of the test cluster: build, up, down, kubeconfig, node-stop, node-start and run."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from pathlib import Path

from tests.e2e.cluster import build, policies
from tests.e2e.cluster.cluster import UID, Cluster
from tests.e2e.cluster.layout import NODES, NoCluster, default_folder


def main() -> None:
    words = _parsed()
    cluster = Cluster(words.folder, getattr(words, "nodes", len(NODES)))
    try:
        match words.command:
            case "build":
                build.programs()
            case "up":
                cluster.up(words.uid)
                print(f"export KUBECONFIG={cluster.kubeconfig}")
            case "down":
                cluster.down()
            case "kubeconfig":
                cluster.layout.facts()
                print(cluster.kubeconfig)
            case "node-stop":
                cluster.stop_node(words.node, kubelet_only=words.kubelet_only)
            case "node-start":
                cluster.start_node(words.node)
                cluster.wait_until_ready(words.node)
            case "run":
                _run(cluster)
            case "guard":
                _guard(cluster, words.pid)
            case "policies":
                policies.enforce(cluster.layout)
    except KeyboardInterrupt:
        return
    except NoCluster as error:
        sys.exit(str(error))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.cluster", description=__doc__)
    parser.add_argument("--folder", type=Path, default=default_folder())
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="what a cluster runs; nothing where it is there")
    for name in ("up", "run"):
        command = commands.add_parser(name)
        command.add_argument("--nodes", type=int, choices=(0, len(NODES)), default=len(NODES))
    commands.choices["up"].add_argument("--uid", type=int, default=UID, help="may write volumes")
    commands.add_parser("down")
    commands.add_parser("kubeconfig")
    stop = commands.add_parser("node-stop")
    stop.add_argument("node", choices=NODES)
    stop.add_argument("--kubelet-only", action="store_true", help="its containers live on")
    commands.add_parser("node-start").add_argument("node", choices=NODES)
    # Of the cluster's own: they are started by it.
    commands.add_parser("guard").add_argument("pid", type=int)
    commands.add_parser("policies")
    return parser.parse_args()


def _run(cluster: Cluster) -> None:
    """One for a person, until Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with cluster:
        print("A cluster answers. In another shell:")
        print(f"  export KUBECONFIG={cluster.kubeconfig}")
        print(f"  export PATH={cluster.layout.folder}:$PATH  # kubectl")
        if cluster.nodes:
            print(f"Push images to {cluster.registry}.")
        print("Ctrl-C ends it, with all that runs in it.", flush=True)
        signal.pause()


def _guard(cluster: Cluster, pid: int) -> None:
    """Waits for a process to end, then takes the cluster down."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        pass
    else:
        watch = select.poll()
        watch.register(handle, select.POLLIN)
        watch.poll()
    cluster.down()


if __name__ == "__main__":
    main()
