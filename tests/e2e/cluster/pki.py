"""Makes the cluster's keys, certificates and kubeconfigs, with openssl."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster import commands
from tests.e2e.cluster.layout import API_PORT, API_SERVICE, NODES, Addresses, Facts, Layout

DAYS = "30"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
ADMINS, NODE_GROUP = "system:masters", "system:nodes"


@dataclass(frozen=True)
class Subject:
    """Whom a certificate is for; with addresses it may serve by it."""

    file: str
    name: str
    group: str = ""
    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def subjects(layout: Layout, facts: Facts) -> list[Subject]:
    at = Addresses.of(layout)
    api = ("127.0.0.1", API_SERVICE, at.control, at.control_for_nodes)
    service = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    made = [
        Subject("apiserver", "kube-apiserver", "", api, service),
        Subject("apiserver-kubelet", "kube-apiserver-kubelet-client", ADMINS),
        Subject("admin", "emufarm-admin", ADMINS),
        Subject("controller-manager", "system:kube-controller-manager"),
    ]
    if facts.nodes:
        made += [
            Subject("scheduler", "system:kube-scheduler"),
            Subject("proxy", "system:kube-proxy"),
            *(
                Subject(node, f"system:node:{node}", NODE_GROUP, (at.node(node),), (node,))
                for node in NODES[: facts.nodes]
            ),
        ]
    return made


def make(layout: Layout, facts: Facts) -> None:
    """All of it, anew."""
    layout.pki.mkdir(mode=0o700, exist_ok=True)
    at = layout.pki
    ca = ["-x509", "-subj", "/CN=emufarm-test-ca", "-days", DAYS]
    _openssl("req", *KEY, *ca, "-keyout", at / "ca.key", "-out", at / "ca.crt")
    curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    _openssl("genpkey", *curve, "-out", at / "sa.key")
    _openssl("pkey", "-in", at / "sa.key", "-pubout", "-out", at / "sa.pub")
    for number, subject in enumerate(subjects(layout, facts), start=1):
        _certificate(at, subject, number)
    inside = f"https://{Addresses.of(layout).control_for_nodes}:{API_PORT}"
    for subject in subjects(layout, facts):
        outside = subject.file == "admin" or not facts.nodes
        kubeconfig = layout.kubeconfig if subject.file == "admin" else at / f"{subject.file}.conf"
        _kubeconfig(at, subject.file, f"https://{facts.api}" if outside else inside, kubeconfig)


def _certificate(at: Path, subject: Subject, number: int) -> None:
    names = ",".join(
        [*(f"IP:{one}" for one in subject.addresses), *(f"DNS:{one}" for one in subject.names)]
    )
    group = f"/O={subject.group}" if subject.group else ""
    request, extensions = at / f"{subject.file}.csr", at / f"{subject.file}.ext"
    lines = ["extendedKeyUsage=clientAuth,serverAuth", *([f"subjectAltName={names}"] * bool(names))]
    extensions.write_text("\n".join(lines))
    who = ["-subj", f"{group}/CN={subject.name}"]
    _openssl("req", "-new", *KEY, *who, "-keyout", at / f"{subject.file}.key", "-out", request)
    signer: list[str | Path] = [
        "-CA",
        at / "ca.crt",
        "-CAkey",
        at / "ca.key",
        "-set_serial",
        str(number),
    ]
    how: list[str | Path] = ["-req", "-days", DAYS, "-in", request, "-extfile", extensions]
    _openssl("x509", *how, *signer, "-out", at / f"{subject.file}.crt")


def _kubeconfig(at: Path, name: str, server: str, path: Path) -> None:
    def data(file: str) -> str:
        return base64.b64encode((at / file).read_bytes()).decode()

    user = {
        "client-certificate-data": data(f"{name}.crt"),
        "client-key-data": data(f"{name}.key"),
    }
    cluster = {"server": server, "certificate-authority-data": data("ca.crt")}
    context = {"cluster": "emufarm-test", "user": name}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "emufarm-test", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "emufarm-test", "context": context}],
        "current-context": "emufarm-test",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))


def _openssl(*words: str | Path) -> None:
    commands.run("openssl", *words)
