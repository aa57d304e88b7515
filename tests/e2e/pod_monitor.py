"""Finds runs on a cluster as Prometheus's operator does from our PodMonitor.

The operator is not to be had here, nor does Debian's Prometheus ask an API server: the Pods are
listed by the PodMonitor's own selector, and its own relabelling is what that Prometheus runs.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from orchestrator.fleet.kubernetes.api import Json
from tests.e2e.cluster.reached import Reached
from tests.run.conftest import ROOT

FILE = ROOT / "k8s" / "monitoring" / "pod-monitor.yaml"


def _endpoint() -> Json:
    monitor = yaml.safe_load(FILE.read_text())
    endpoint: Json
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    return endpoint


def job() -> dict[str, Any]:
    """The scrape job that the operator would write, but for the interval."""
    endpoint = _endpoint()
    steps = [
        {_snake(key): value for key, value in step.items()} for step in endpoint["relabelings"]
    ]
    return {
        "job_name": "podMonitor/emufarm/emufarm/0",
        "metrics_path": endpoint["path"],
        "honor_labels": endpoint["honorLabels"],
        "relabel_configs": steps,
    }


def targets(cluster: Reached, namespace: str) -> list[dict[str, Any]]:
    """The selected Pods that have an address and have not ended, with the labels that the operator
    gives them."""
    wanted = yaml.safe_load(FILE.read_text())["spec"]["selector"]["matchLabels"]
    selector = ",".join(f"{label}={value}" for label, value in wanted.items())
    pods = cluster.get("pods", "-n", namespace, "-l", selector)["items"]
    return [
        {"targets": [f"{pod['status']['podIP']}:{port['containerPort']}"], "labels": labels}
        for pod in pods
        if pod["status"].get("podIP") and pod["status"]["phase"] not in ("Succeeded", "Failed")
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
        if port.get("name") == _endpoint()["port"]
        for labels in [_labels(pod, container["name"])]
    ]


def _labels(pod: Json, container: str) -> dict[str, str]:
    about = pod["metadata"]
    place = {"namespace": about["namespace"], "pod": about["name"], "container": container}
    found = {
        "__meta_kubernetes_namespace": about["namespace"],
        "__meta_kubernetes_pod_name": about["name"],
        "__meta_kubernetes_pod_node_name": pod["spec"].get("nodeName", ""),
    }
    for name, value in about["labels"].items():
        found["__meta_kubernetes_pod_label_" + re.sub(r"[^A-Za-z0-9_]", "_", name)] = value
    return {**place, "endpoint": _endpoint()["port"], "job": "emufarm/emufarm", **found}


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)
