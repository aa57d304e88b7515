"""Enforces NetworkPolicies on the nodes, as a network plugin would.

What is in the API is read every half second and written into each node's packet filter as one
change. A Pod that has just got its address is open for that long; a policy never cuts a connection
that is established.
"""

from __future__ import annotations

import hashlib
import signal
import ssl
import subprocess
import sys
import threading
from typing import Any

import httpx

from tests.e2e.cluster import commands
from tests.e2e.cluster.layout import NODES, Layout, NoCluster
from tests.e2e.cluster.machine import Machine
from tests.e2e.cluster.network_policies import PREFIX, TOP, rules

EVERY_S, ANSWER_S = 0.5, 10.0
# Before the table that kube-proxy and others accept packets in.
TABLE, HOOK = "mangle", "FORWARD"
KINDS = (
    "/apis/networking.k8s.io/v1/networkpolicies", "/api/v1/pods", "/api/v1/namespaces",
)  # fmt: skip


def enforce(layout: Layout) -> None:
    """Until told to end; then every rule of it goes."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    nodes = [Machine(layout, name) for name in NODES]
    with _client(layout) as client:
        while not told.wait(EVERY_S):
            try:
                _write(nodes, rules(*_listed(client)))
            except (httpx.HTTPError, NoCluster, subprocess.TimeoutExpired) as error:
                # The API server may be away and a node may be lost: the next look finds them.
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    _write(nodes, {})


def _client(layout: Layout) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
    context.load_cert_chain(layout.pki / "admin.crt", layout.pki / "admin.key")
    return httpx.Client(
        base_url=f"https://{layout.facts().api}", verify=context, timeout=ANSWER_S, trust_env=False
    )


def _listed(client: httpx.Client) -> list[list[Any]]:
    """Policies, Pods, namespaces; without policies the rest is not asked for."""
    policies: list[Any] = client.get(KINDS[0]).raise_for_status().json()["items"]
    if not policies:
        return [[], [], []]
    others = [client.get(kind).raise_for_status().json()["items"] for kind in KINDS[1:]]
    return [policies, *others]


def _write(nodes: list[Machine], chains: dict[str, list[str]]) -> None:
    for node in nodes:
        if node.running is not None:
            _write_one(node, chains)


def _write_one(node: Machine, chains: dict[str, list[str]]) -> None:
    """Nothing where it is so already."""
    there = commands.run(*node.enter(), "iptables-save", "-t", TABLE).stdout.splitlines()
    old = {line[1:].split()[0] for line in there if line.startswith((f":{TOP}", f":{PREFIX}"))}
    wanted = [f"-A {name} {rule}" for name, lines in chains.items() for rule in lines]
    # The filter spells rules its own way, so ours are compared by their mark.
    mark = f"-A {TOP} -m comment --comment {_mark(wanted)}"
    if (mark in there) if wanted else not old:
        return
    hooked = f"-A {HOOK} -j {TOP}" in there
    gone = sorted(old - set(chains))
    lines = [
        f"*{TABLE}",
        *(f":{name} - [0:0]" for name in sorted(old | set(chains))),
        *([f"-D {HOOK} -j {TOP}"] if hooked and not chains else []),
        *([f"-A {HOOK} -j {TOP}"] if chains and not hooked else []),
        *([mark] if chains else []),
        *wanted,
        *(f"-X {name}" for name in gone),
        "COMMIT",
    ]
    commands.run(*node.enter(), "iptables-restore", "--noflush", stdin="\n".join([*lines, ""]))


def _mark(wanted: list[str]) -> str:
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:16]
