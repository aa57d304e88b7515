"""A real Prometheus finds a run on a real cluster by our PodMonitor, and counts on over a death."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
RUN, EPISODES = "watched", 8
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
    """Deleted in order, its Pod may be found beside its successor's for a while; then at once."""
    cluster = clustered.cluster
    with (
        Thinker(cluster.machine_address, THINKING_S).listening() as thinker,
        discovering(clustered, prometheus),
    ):
        words = ("--devices", "2", "--repeats", str(EPISODES), "--agent", thinker.url)
        process = clustered.start(str(patient_cases), *words, name=RUN)
        clustered.in_mid_attempt(process, RUN, thinker)
        for attempts, how in ((2, ()), (4, ("--grace-period=0", "--force"))):
            thinker.go_once()
            clustered.in_mid_attempt(process, RUN, thinker)
            wait_until(clustered, prometheus, ATTEMPTS, attempts)
            delete_coordinator(clustered, process, *how)
            moment = time.time()
            wait_until_scraped_after(clustered, prometheus, moment)
            assert last(prometheus, ATTEMPTS) == attempts
        thinker.go()
        code, output = ended(process)
        assert code == 0, output
        wait_until(clustered, prometheus, "emufarm_run_over", 1)
    counts_the_journal(prometheus, RUN, clustered.farm.events(RUN))
    never_went_down(prometheus, RUN)
    of_the_run = prometheus.query(
        f'last_over_time({{__name__=~"emufarm_.*",instance="{RUN}"}}[{WINDOW}])'
    )
    added = {"instance": RUN, "job": "emufarm", "namespace": NAMESPACE}
    for sample in of_the_run:
        assert added.items() <= sample["metric"].items()
        assert not sample["metric"].keys() & {"pod", "container", "endpoint", "node"}
    (info,) = (s["metric"] for s in of_the_run if s["metric"]["__name__"] == "emufarm_run_info")
    assert (info["run"], info["backend"]) == (RUN, "kubernetes")
    clustered.delete(RUN)


@contextmanager
def discovering(clustered: Clustered, prometheus: Prometheus) -> Iterator[None]:
    """Meanwhile Prometheus knows which Pods there are, as from the operator."""
    over = threading.Event()

    def discover() -> None:
        while not over.wait(1.0):
            prometheus.find(pod_monitor.targets(clustered.cluster, NAMESPACE))

    with ThreadPoolExecutor(1) as thread:
        discovered = thread.submit(discover)
        try:
            yield
        finally:
            over.set()
        discovered.result()


def delete_coordinator(clustered: Clustered, process: subprocess.Popen[str], *how: str) -> None:
    """Returns when its successor has the run."""
    claim = clustered.farm_run(RUN)["status"]["claim"]
    pod = clustered.coordinator(RUN)["metadata"]["name"]
    clustered.kubectl("delete", "pod", pod, "--wait=false", *how)

    def has_another() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return int(clustered.farm_run(RUN)["status"]["claim"]) > int(claim)

    clustered.cluster.wait("another coordinator", has_another)


def wait_until(clustered: Clustered, prometheus: Prometheus, name: str, wanted: float) -> None:
    clustered.cluster.wait(f"{name} {wanted}", lambda: last(prometheus, name) == wanted)


def wait_until_scraped_after(clustered: Clustered, prometheus: Prometheus, moment: float) -> None:
    """By then only a successor answers."""
    read = f'timestamp(emufarm_run_over{{instance="{RUN}"}})'
    clustered.cluster.wait("a scrape", lambda: value(prometheus, read) > moment)


def last(prometheus: Prometheus, name: str) -> float:
    """The sum of the run's series of this name, as they were last read."""
    return value(prometheus, f'sum(last_over_time({name}{{instance="{RUN}"}}[{WINDOW}]))')


def value(prometheus: Prometheus, query: str) -> float:
    """Of the one sample; nan where nothing was read."""
    found = prometheus.query(query)
    return float(found[0]["value"][1]) if found else float("nan")
