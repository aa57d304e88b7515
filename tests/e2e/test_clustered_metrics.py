"""A real Prometheus finds a run on a real cluster by our PodMonitor, and counts on over a death."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from k8s.monitoring.source import rules
from k8s.monitoring.source.written import DASHBOARDS
from tests.e2e import pod_monitor
from tests.e2e.clustered import NAMESPACE, Clustered
from tests.e2e.counted import WINDOW, counts_the_journal, never_went_down
from tests.e2e.prometheus import Place, Prometheus
from tests.e2e.thinker import Thinker
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
RUN, EPISODES = "watched", 4
ATTEMPTS = "emufarm_attempts_total"
THINKING_S = 240.0  # less than the case's time


def test_kustomize_builds_all_of_the_monitoring_into_the_farms_namespace(
    clustered: Clustered,
) -> None:
    built = clustered.cluster.kubectl("kustomize", str(pod_monitor.FILE.parent)).stdout
    found = {one["kind"]: one for one in yaml.safe_load_all(built)}
    assert {"PodMonitor", "PrometheusRule", "ConfigMap"} == found.keys()
    assert {one["metadata"]["namespace"] for one in found.values()} == {NAMESPACE}
    plain = [group for file in rules.rule_files() for group in rules.groups(file)]
    assert found["PrometheusRule"]["spec"]["groups"] == plain
    dashboards = found["ConfigMap"]
    assert dashboards["metadata"]["labels"]["grafana_dashboard"] == "1"
    written = {file.name: file.read_text() for file in DASHBOARDS.glob("*.json")}
    assert dashboards["data"] == written


@pytest.fixture
def prometheus(clustered: Clustered, tmp_path: Path) -> Iterator[Prometheus]:
    """On the control plane's machine, since only a cluster's own network reaches its Pods."""
    place = Place(clustered.cluster.control_address, clustered.cluster.control_network)
    with Prometheus(tmp_path / "prometheus", place=place, job=pod_monitor.job()) as running:
        yield running


def test_a_run_whose_coordinators_pod_is_deleted_counts_on_in_the_same_series(
    clustered: Clustered, prometheus: Prometheus, patient_cases: Path
) -> None:
    with Thinker(clustered.cluster.machine_address, THINKING_S).listening() as thinker:
        words = ("--devices", "2", "--repeats", str(EPISODES), "--agent", thinker.url)
        process = clustered.start(str(patient_cases), *words, name=RUN)
        clustered.in_mid_attempt(process, RUN, thinker)
        discover(clustered, prometheus)
        thinker.go_once()
        clustered.in_mid_attempt(process, RUN, thinker)
        clustered.cluster.wait("two attempts", lambda: last(prometheus, ATTEMPTS) == 2)
        delete_coordinator(clustered, process)
        discover(clustered, prometheus)
        assert last(prometheus, ATTEMPTS) == 2
        thinker.go()
        code, output = ended(process)
    assert code == 0, output
    clustered.cluster.wait("the end", lambda: last(prometheus, "emufarm_run_over") == 1)
    counts_the_journal(prometheus, RUN, clustered.farm.events(RUN))
    never_went_down(prometheus, RUN)
    of_the_run = prometheus.query(f'last_over_time({{instance="{RUN}"}}[{WINDOW}])')
    added = {"instance": RUN, "job": "emufarm", "namespace": NAMESPACE}
    for sample in of_the_run:
        assert added.items() <= sample["metric"].items()
        assert not sample["metric"].keys() & {"pod", "container", "endpoint", "node"}
    (info,) = (s["metric"] for s in of_the_run if s["metric"]["__name__"] == "emufarm_run_info")
    assert (info["run"], info["backend"]) == (RUN, "kubernetes")
    clustered.delete(RUN)


def delete_coordinator(clustered: Clustered, process: subprocess.Popen[str]) -> None:
    """At once, as a lost Pod goes; returns when its successor has the run."""
    claim = clustered.farm_run(RUN)["status"]["claim"]
    pod = clustered.coordinator(RUN)["metadata"]["name"]
    clustered.kubectl("delete", "pod", pod, "--grace-period=0", "--force")

    def has_another() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return int(clustered.farm_run(RUN)["status"]["claim"]) > int(claim)

    clustered.cluster.wait("another coordinator", has_another)


def discover(clustered: Clustered, prometheus: Prometheus) -> None:
    """Tells Prometheus which Pods there are now; returns when it has read the run's."""
    now = time.time()
    prometheus.find(pod_monitor.targets(clustered.cluster, NAMESPACE))
    read = f'timestamp(emufarm_run_over{{instance="{RUN}"}})'
    clustered.cluster.wait("a scrape", lambda: value(prometheus, read) > now)


def last(prometheus: Prometheus, name: str) -> float:
    """The sum of the run's series of this name, as they were last read."""
    return value(prometheus, f'sum(last_over_time({name}{{instance="{RUN}"}}[{WINDOW}]))')


def value(prometheus: Prometheus, query: str) -> float:
    """Of the one sample; nan where nothing was read."""
    found = prometheus.query(query)
    return float(found[0]["value"][1]) if found else float("nan")
