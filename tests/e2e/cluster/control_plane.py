"""Runs etcd, the API server, the controller manager and, for nodes, the scheduler."""

from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path

from tests.e2e.cluster.layout import (
    API_PORT,
    CONTROL,
    POD_NETWORK,
    SERVICE_NETWORK,
    Addresses,
    Facts,
    Layout,
)  # fmt: skip
from tests.e2e.cluster.machine import Machine
from tests.e2e.cluster.processes import Processes
from tests.e2e.cluster.reached import Reached

READY_S, ANSWER_S = 120.0, 5.0
ETCD, API, CONTROLLERS, SCHEDULER = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
)  # fmt: skip
# Where no node is, tests write what Nodes and Pods are said to be, and nobody corrects them.
NOT_WITHOUT_NODES = (
    "node-lifecycle-controller", "pod-garbage-collector-controller", "taint-eviction-controller",
)  # fmt: skip


class ControlPlane:
    """Its parts, in the order of their start."""

    def __init__(self, layout: Layout, facts: Facts) -> None:
        self._layout = layout
        self._facts = facts
        self._processes = Processes(layout)

    @property
    def parts(self) -> list[str]:
        return [ETCD, API, CONTROLLERS, *([SCHEDULER] if self._facts.nodes else [])]

    def start(self) -> None:
        for part in self.parts:
            self.start_part(part)
        needed = [part for part in self.parts if part != SCHEDULER]
        self._processes.wait("a default service account", self._settled, READY_S, *needed)

    def start_part(self, part: str) -> None:
        """Waits for the API server; the others try until it is there."""
        command: list[str | Path] = [self._layout.kube, part, *self._flags(part)]
        if self._facts.nodes:
            Machine(self._layout, CONTROL).start(part, command)
        else:
            self._processes.start(part, command)
        if part == API:
            self._processes.wait("the API server", self.answers, READY_S, ETCD, API)

    def answers(self) -> bool:
        context = ssl.create_default_context(cafile=str(self._layout.pki / "ca.crt"))
        context.load_cert_chain(self._layout.pki / "admin.crt", self._layout.pki / "admin.key")
        try:
            address = f"https://{self._facts.api}/readyz"
            with urllib.request.urlopen(address, timeout=ANSWER_S, context=context) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _settled(self) -> bool:
        reached = Reached(self._layout.kube, self._layout.kubeconfig)
        words = ("get", "serviceaccount", "default", "--namespace", "default")
        return reached.kubectl(*words, check=False).returncode == 0

    def _flags(self, part: str) -> list[str]:
        pki = self._layout.pki
        if part == ETCD:
            client, peer = f"http://{self._facts.etcd}", f"http://{self._facts.etcd_peer}"
            return [
                f"--data-dir={self._layout.folder}/etcd", "--unsafe-no-fsync", "--name=test",
                f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=test={peer}", "--log-level=warn",
            ]  # fmt: skip
        if part == API:
            return self._api_flags()
        if part == SCHEDULER:
            return [f"--kubeconfig={pki}/scheduler.conf", "--leader-elect=false", "--secure-port=0"]
        without = "" if self._facts.nodes else "".join(f",-{one}" for one in NOT_WITHOUT_NODES)
        return [
            f"--kubeconfig={pki}/controller-manager.conf", "--leader-elect=false",
            "--secure-port=0", "--use-service-account-credentials", f"--root-ca-file={pki}/ca.crt",
            f"--service-account-private-key-file={pki}/sa.key", f"--controllers=*{without}",
            f"--cluster-cidr={POD_NETWORK}", "--kube-api-qps=200", "--kube-api-burst=400",
            # A lost node is seen in seconds, and a slow one is not taken for lost.
            "--node-monitor-period=2s", "--node-monitor-grace-period=20s",
        ]  # fmt: skip

    def _api_flags(self) -> list[str]:
        pki, at = self._layout.pki, Addresses.of(self._layout)
        host, port = self._facts.api.split(":")
        place = (
            ["--bind-address=0.0.0.0", f"--advertise-address={at.control_for_nodes}",
             f"--secure-port={API_PORT}"]
            if self._facts.nodes
            else [f"--bind-address={host}", f"--advertise-address={host}",
                  f"--secure-port={port}", "--endpoint-reconciler-type=none"]
        )  # fmt: skip
        return [
            *place, f"--etcd-servers=http://{self._facts.etcd}",
            f"--cert-dir={pki}", f"--client-ca-file={pki}/ca.crt",
            f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            f"--service-cluster-ip-range={SERVICE_NETWORK}", "--allow-privileged=true",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet.key",
            "--kubelet-preferred-address-types=InternalIP",
        ]  # fmt: skip
