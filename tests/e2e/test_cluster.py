"""The test cluster is a real one, with nodes that can be lost, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.layout import NODES
from tests.e2e.cluster.reached import Reached

pytestmark = pytest.mark.kubernetes

NODE_A, NODE_B = NODES
PORT = 8080


@pytest.fixture
def space(own_cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for one test."""
    name = f"test-{abs(hash(request.node.name)) % 10**8}"
    own_cluster.kubectl("create", "namespace", name)
    yield name
    own_cluster.kubectl("delete", "namespace", name, "--wait=false")
    own_cluster.kubectl("delete", "pods", "--all", "-n", name, "--grace-period=0", "--force")


def a_pod(cluster: Cluster, space: str, name: str, node: str | None, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": cluster.box, "args": ["serve", str(PORT)]}
    probe = {"httpGet": {"port": PORT, "path": "/"}, "periodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {
            **({"nodeName": node} if node else {}),
            "terminationGracePeriodSeconds": 2,
            "containers": [{**container, "readinessProbe": probe}],
            **more,
        },
    }


def a_service(space: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": space},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": PORT}]},
    }


def a_policy(space: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": space},
        "spec": spec,
    }


def run_pods(cluster: Cluster, space: str, *pods: dict[str, Any]) -> None:
    cluster.apply(*pods)
    names = [f"pod/{pod['metadata']['name']}" for pod in pods]
    cluster.kubectl("wait", "-n", space, "--for=condition=Ready", *names, "--timeout=90s")


def address(cluster: Reached, space: str, name: str) -> str:
    found: str = cluster.get("pod", name, "-n", space)["status"]["podIP"]
    return found


def fetched(
    cluster: Reached, space: str, pod: str, host: str, port: int = PORT
) -> subprocess.CompletedProcess[str]:
    words = ("-n", space, "exec", pod, "--", "/box", "fetch", f"http://{host}:{port}/")
    return cluster.kubectl(*words, check=False)


def reaches(cluster: Reached, space: str, pod: str, host: str) -> bool:
    return fetched(cluster, space, pod, host).returncode == 0


def test_pods_of_two_nodes_reach_each_other_and_a_service(own_cluster: Cluster, space: str) -> None:
    """Their image comes from the loopback registry, by digest; logs and exec work."""
    cluster = own_cluster
    assert cluster.ready() >= {NODE_A, NODE_B}
    cluster.apply(a_service(space, "one"))
    one, other = a_pod(cluster, space, "one", NODE_A), a_pod(cluster, space, "other", NODE_B)
    run_pods(cluster, space, one, other)
    assert fetched(cluster, space, "other", address(cluster, space, "one")).stdout == "one\n"
    assert fetched(cluster, space, "one", address(cluster, space, "other")).stdout == "other\n"
    service = cluster.get("service", "one", "-n", space)["spec"]["clusterIP"]
    cluster.wait(
        "the Service", lambda: not fetched(cluster, space, "other", service, 80).returncode
    )
    assert fetched(cluster, space, "other", service, 80).stdout == "one\n"
    assert cluster.kubectl("logs", "other", "-n", space).stdout == f"serving {PORT}\n"
    ran = cluster.get("pod", "one", "-n", space)["status"]["containerStatuses"][0]["imageID"]
    assert ran == cluster.box
    raw = f"/api/v1/namespaces/{space}/services/one/proxy/"
    assert cluster.kubectl("get", "--raw", raw).stdout == "one\n"


def test_a_sidecar_gates_its_main_container(own_cluster: Cluster, space: str) -> None:
    """The main container is started when the sidecar's startup probe passes, and not before."""
    cluster = own_cluster
    command = ["/box", "show", "/tmp/up"]
    sidecar = {
        "name": "sidecar", "image": cluster.box, "args": ["pause"], "restartPolicy": "Always",
        "startupProbe": {
            "exec": {"command": command}, "periodSeconds": 1, "failureThreshold": 300,
        },
    }  # fmt: skip
    cluster.apply(a_pod(cluster, space, "gated", None, initContainers=[sidecar]))

    def state(kind: str) -> dict[str, Any]:
        status = cluster.get("pod", "gated", "-n", space)["status"]
        found: dict[str, Any] = (status.get(kind) or [{}])[0].get("state", {})
        return found

    cluster.wait("the sidecar", lambda: "running" in state("initContainerStatuses"))
    assert state("containerStatuses")["waiting"]["reason"] == "PodInitializing"
    words = ("gated", "-n", space, "-c", "sidecar", "--", "/box", "write", "/tmp/up")
    cluster.kubectl("exec", *words)
    cluster.wait("the main container", lambda: "running" in state("containerStatuses"))


def test_a_claim_is_bound_and_its_volume_is_shared_by_both_nodes(
    own_cluster: Cluster, space: str
) -> None:
    cluster = own_cluster
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared", "namespace": space},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    volume = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}
    pods = [
        a_pod(cluster, space, name, node, volumes=[volume])
        for name, node in (("writer", NODE_A), ("reader", NODE_B))
    ]
    for pod in pods:
        pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "shared", "mountPath": "/shared"}]
    cluster.apply(claim)
    cluster.kubectl(
        "wait", "-n", space, "pvc/shared", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s"
    )
    run_pods(cluster, space, *pods)
    cluster.kubectl("-n", space, "exec", "writer", "--", "/box", "write", "/shared/it")
    shown = cluster.kubectl("-n", space, "exec", "reader", "--", "/box", "show", "/shared/it")
    assert shown.stdout == "written\n"


def test_policies_meet_packets(own_cluster: Cluster, space: str) -> None:
    """Default-deny cuts Pods off, on one node and across; an opening lets its peer through."""
    cluster = own_cluster
    run_pods(
        cluster, space,
        a_pod(cluster, space, "served", NODE_A),
        a_pod(cluster, space, "near", NODE_A),
        a_pod(cluster, space, "far", NODE_B),
    )  # fmt: skip
    served = address(cluster, space, "served")
    assert reaches(cluster, space, "near", served)
    assert reaches(cluster, space, "far", served)
    deny = {"podSelector": {"matchLabels": {"app": "served"}}, "policyTypes": ["Ingress"]}
    cluster.apply(a_policy(space, "deny", deny))
    cluster.wait("a closed port", lambda: not reaches(cluster, space, "near", served))
    assert not reaches(cluster, space, "far", served)
    peer = {"podSelector": {"matchLabels": {"app": "far"}}}
    opening = {"from": [peer], "ports": [{"port": PORT}]}
    cluster.apply(a_policy(space, "open", {**deny, "ingress": [opening]}))
    cluster.wait("an opening", lambda: reaches(cluster, space, "far", served))
    assert not reaches(cluster, space, "near", served)
    shut = {"podSelector": {"matchLabels": {"app": "far"}}, "policyTypes": ["Egress"]}
    cluster.apply(a_policy(space, "shut", shut))
    cluster.wait("a closed way out", lambda: not reaches(cluster, space, "far", served))
    # Ready all the while: the kubelet's probes are no Pod's traffic.
    cluster.kubectl("wait", "-n", space, "--for=condition=Ready", "pod/served", "--timeout=10s")
    cluster.kubectl("delete", "networkpolicies", "--all", "-n", space)
    cluster.wait("all open again", lambda: reaches(cluster, space, "near", served))


def test_a_drained_node_loses_its_pods_and_takes_no_more(own_cluster: Cluster, space: str) -> None:
    cluster = own_cluster
    run_pods(cluster, space, a_pod(cluster, space, "moved", NODE_B))
    cluster.kubectl("drain", NODE_B, "--force", "--timeout=60s")
    try:
        assert cluster.get("pods", "-n", space)["items"] == []
        run_pods(cluster, space, a_pod(cluster, space, "next", None))
        assert cluster.get("pod", "next", "-n", space)["spec"]["nodeName"] == NODE_A
    finally:
        cluster.kubectl("uncordon", NODE_B)


def test_a_lost_node_is_seen_and_comes_back(own_cluster: Cluster, space: str) -> None:
    cluster = own_cluster
    run_pods(
        cluster, space,
        a_pod(cluster, space, "lost", NODE_B), a_pod(cluster, space, "witness", NODE_A),
    )  # fmt: skip
    was = address(cluster, space, "lost")
    cluster.stop_node(NODE_B)
    try:
        assert not reaches(cluster, space, "witness", was)
        cluster.wait("a lost node", lambda: NODE_B not in cluster.ready())
    finally:
        cluster.start_node(NODE_B)
    cluster.wait_until_ready(NODE_B)

    def back() -> bool:
        status = cluster.get("pod", "lost", "-n", space)["status"]
        found = status["containerStatuses"][0]
        return bool(found["restartCount"] == 1 and found["ready"])

    cluster.wait("its Pod", back)


def test_containers_outlive_their_kubelet(own_cluster: Cluster, space: str) -> None:
    cluster = own_cluster
    run_pods(
        cluster, space,
        a_pod(cluster, space, "kept", NODE_B), a_pod(cluster, space, "witness", NODE_A),
    )  # fmt: skip
    kept = address(cluster, space, "kept")
    cluster.stop_node(NODE_B, kubelet_only=True)
    try:
        cluster.wait("an unready node", lambda: NODE_B not in cluster.ready())
        assert reaches(cluster, space, "witness", kept)
    finally:
        cluster.start_node(NODE_B)
    cluster.wait_until_ready(NODE_B)
    (status,) = cluster.get("pod", "kept", "-n", space)["status"]["containerStatuses"]
    assert status["restartCount"] == 0


def test_the_api_server_goes_and_comes_back(own_cluster: Cluster, space: str) -> None:
    own_cluster.stop_api()
    try:
        assert own_cluster.kubectl("get", "nodes", check=False).returncode != 0
    finally:
        own_cluster.start_api()
    assert own_cluster.get("namespace", space)["status"]["phase"] == "Active"


def test_without_nodes_a_test_says_what_a_pod_is(api_server: Cluster) -> None:
    """A real API server keeps a status that nobody but the test writes."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "told", "namespace": "default"},
        "spec": {
            "nodeName": "nowhere",
            "containers": [{"name": "main", "image": "localhost/none"}],
        },
    }
    api_server.apply(pod)
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    status = {"status": {"phase": "Failed", "reason": "Evicted", "conditions": [condition]}}
    words = ("patch", "pod", "told", "--subresource=status", "--type=merge")
    api_server.kubectl(*words, "--patch", json.dumps(status))
    told = api_server.get("pod", "told")["status"]
    assert (told["phase"], told["reason"]) == ("Failed", "Evicted")
    assert [one["reason"] for one in told["conditions"]] == ["PreemptionByScheduler"]
