"""What a cluster gets from k8s/monitoring says the same as the plain files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from k8s.monitoring.source import rules
from orchestrator.fleet.kubernetes import names

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "k8s" / "monitoring"
COORDINATOR = {
    "app.kubernetes.io/part-of": "emufarm",
    "app.kubernetes.io/component": "coordinator",
}


def loaded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((MONITORING / name).read_text())
    return found


def test_the_operators_rules_are_those_of_the_plain_files() -> None:
    plain = [group for file in rules.rule_files() for group in rules.groups(file)]
    assert loaded("prometheus-rule.yaml")["spec"]["groups"] == plain


def test_pods_are_selected_by_labels_that_a_coordinator_has() -> None:
    template = yaml.safe_load((ROOT / "k8s/base/pod-templates/coordinator.yaml").read_text())
    assert COORDINATOR.items() <= template["template"]["metadata"]["labels"].items()
    assert loaded("pod-monitor.yaml")["spec"]["selector"]["matchLabels"] == COORDINATOR
    (job,) = loaded("scrape-kubernetes.yaml")["scrape_configs"]
    (discovery,) = job["kubernetes_sd_configs"]
    (selector,) = discovery["selectors"]
    assert dict(one.split("=") for one in selector["label"].split(",")) == COORDINATOR


def test_instance_is_the_run_and_no_pod_container_or_node_is_named() -> None:
    """The operator adds names of its own, which are dropped; a plain scrape adds none."""
    run = "__meta_kubernetes_pod_label_" + names.RUN.replace(".", "_").replace("/", "_")
    (endpoint,) = loaded("pod-monitor.yaml")["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "metrics"
    assert not endpoint["honorLabels"]
    steps = endpoint["relabelings"]
    assert {"action": "replace", "sourceLabels": [run], "targetLabel": "instance"} in steps
    (dropped,) = (step["regex"] for step in steps if step["action"] == "labeldrop")
    assert set(dropped.split("|")) == {"pod", "container", "endpoint", "node"}
    assert {step["targetLabel"] for step in steps if "targetLabel" in step} == {"instance", "job"}
    (job,) = loaded("scrape-kubernetes.yaml")["scrape_configs"]
    plain = {step.get("target_label"): step["source_labels"] for step in job["relabel_configs"]}
    assert plain == {
        None: ["__meta_kubernetes_pod_container_port_name"],
        "instance": [run],
        "namespace": ["__meta_kubernetes_namespace"],
    }
