"""Faults of a cluster in mid-attempt: each is named, none is a score, every episode is decided."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from orchestrator.coordinator.claims import FOLDER
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceLost,
    EpisodeDecided,
    LeaseGranted,
)
from orchestrator.evidence import manifest
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.outcome import Cause
from tests.e2e.cluster.layout import NODES
from tests.e2e.clustered import Clustered, changed_template
from tests.e2e.thinker import Thinker
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
QUIET, EPISODES, MOST_EPISODES = "quiet", 4, 8
THINKING_S = 240.0  # less than the case's time; a lost node is left after a minute
long = pytest.mark.kubernetes_long


@pytest.fixture(scope="module", autouse=True)
def _quiet(clustered: Clustered, patient_cases: Path) -> None:
    """A run that nothing disturbs, for the scores that the others must have."""
    with Thinker(clustered.cluster.machine_address).listening() as agent:
        agent.go()
        words = ("--backend", "local", "--devices", "2", "--repeats", str(MOST_EPISODES))
        code, output = clustered.farm.run(patient_cases, *words, "--agent", agent.url, name=QUIET)
    assert code == 0, output
    assert set(clustered.farm.outcomes(QUIET).values()) == {"success"}


@pytest.fixture
def thinker(clustered: Clustered) -> Iterator[Thinker]:
    with Thinker(clustered.cluster.machine_address, THINKING_S).listening() as one:
        yield one


class Start(Protocol):
    def __call__(
        self, name: str, *words: str, episodes: int = EPISODES
    ) -> subprocess.Popen[str]: ...


@pytest.fixture
def start(clustered: Clustered, patient_cases: Path, thinker: Thinker) -> Start:
    """Starts a run on two devices whose agent is the thinker."""

    def one(name: str, *words: str, episodes: int = EPISODES) -> subprocess.Popen[str]:
        busy = ("--devices", "2", "--repeats", str(episodes), "--agent", thinker.url)
        return clustered.start(str(patient_cases), *busy, *words, name=name)

    return one


def test_a_device_whose_first_process_is_killed_while_the_agent_thinks_is_infrastructure(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("killed")
    lease = clustered.in_mid_attempt(process, "killed", thinker)
    clustered.cluster.kill_container(clustered.pod("killed", lease.device), "device")
    thinker.go()
    finishes(clustered, process, "killed")
    was_tried_elsewhere(clustered, "killed", lease, Cause.KILLED)
    clustered.told("killed", "DeviceLost", f"{lease.device} (killed)")
    clustered.told("killed", "Complete", "every episode is decided")
    clustered.delete("killed")


def test_a_worker_pod_that_is_deleted_is_infrastructure_and_its_episode_goes_elsewhere(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("deleted")
    lease = clustered.in_mid_attempt(process, "deleted", thinker)
    pod = clustered.pod("deleted", lease.device)["metadata"]["name"]
    clustered.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
    thinker.go()
    finishes(clustered, process, "deleted")
    was_tried_elsewhere(clustered, "deleted", lease, Cause.REMOVED)
    clustered.delete("deleted")


@long
def test_a_bundle_that_was_sealed_and_not_sent_is_collected_from_the_shared_volume(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    with clustered.sharing_evidence():
        process = start("sealed")
        lease = clustered.in_mid_attempt(process, "sealed", thinker)
    pod, coordinator = clustered.pod("sealed", lease.device), clustered.coordinator("sealed")
    sealed = clustered.shared_volume() / "sealed" / lease.device
    with clustered.cluster.cut(pod, coordinator):
        thinker.go()
        clustered.cluster.wait("a sealed bundle", lambda: any(sealed.glob("sealed-*")))
        words = ("--grace-period=0", "--force")
        clustered.kubectl("delete", "pod", pod["metadata"]["name"], *words)
        clustered.cluster.wait("the end of its Pod", lambda: not is_there(clustered, pod))
    finishes(clustered, process, "sealed")
    assert attempts(clustered, "sealed") == EPISODES
    (ended_as,) = (
        e for e in clustered.farm.events("sealed")
        if isinstance(e, AttemptCommitted) and e.episode == lease.episode
    )  # fmt: skip
    assert (ended_as.device, ended_as.attempt) == (lease.device, lease.attempt)
    clustered.delete("sealed")


def is_there(clustered: Clustered, pod: Json) -> bool:
    found = clustered.kubectl("get", "pods", "-o", "name").split()
    return f"pod/{pod['metadata']['name']}" in found


def test_a_coordinators_death_restarts_no_device_and_loses_no_attempt(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    """They also go on to the next episodes, with the successor's leases."""
    process = start("moved")
    clustered.in_mid_attempt(process, "moved", thinker)
    before, old = clustered.device_pods("moved"), clustered.coordinator("moved")
    assert len(before) == 2
    clustered.kubectl("delete", "pod", old["metadata"]["name"], "--grace-period=0", "--force")
    clustered.cluster.wait("another coordinator", lambda: claim(clustered, "moved") > 1)
    assert clustered.device_pods("moved") == before
    thinker.go_once()
    clustered.in_mid_attempt(process, "moved", thinker)
    assert clustered.device_pods("moved") == before
    thinker.go()
    finishes(clustered, process, "moved")
    assert attempts(clustered, "moved") == EPISODES
    events = clustered.farm.events("moved")
    assert {e.device for e in events if isinstance(e, LeaseGranted)} == set(before)
    assert not [e for e in events if isinstance(e, DeviceLost)]
    clustered.delete("moved")


def test_a_killed_command_ends_nothing_and_a_watch_goes_on(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("left")
    clustered.in_mid_attempt(process, "left", thinker)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    thinker.go()
    watching = clustered.farm.start("runs", "watch", "left", "--runs", str(clustered.farm.runs))
    finishes(clustered, watching, "left")
    assert attempts(clustered, "left") == EPISODES
    clustered.delete("left")


@long
def test_an_emulator_out_of_memory_is_told_as_such(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("memory")
    lease = clustered.in_mid_attempt(process, "memory", thinker)
    pod = clustered.pod("memory", lease.device)["metadata"]["name"]
    fill = ("exec", pod, "-c", "device", "--", "sh", "-c", "cat /dev/zero > /tmp/fill")
    clustered.cluster.kubectl("-n", "emufarm", *fill, check=False)
    thinker.go()
    finishes(clustered, process, "memory")
    was_tried_elsewhere(clustered, "memory", lease, Cause.OUT_OF_MEMORY)
    clustered.delete("memory")


@long
def test_a_drained_node_costs_attempts_and_no_score(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    # A coordinator that was there too would find the Pod gone, and why not on record any more.
    with changed_template(clustered, "coordinator", nodeName="node-a"):
        process = start("drained")
        clustered.in_mid_attempt(process, "drained", thinker)
    lease = on_node(clustered, "drained", "node-b")
    try:
        clustered.cluster.kubectl(
            "drain", "node-b", "--ignore-daemonsets", "--delete-emptydir-data", "--force",
            "--timeout=120s",
        )  # fmt: skip
        thinker.go()
        finishes(clustered, process, "drained")
    finally:
        clustered.cluster.kubectl("uncordon", "node-b")
    was_tried_elsewhere(clustered, "drained", lease, Cause.EVICTED)
    clustered.delete("drained")


@long
def test_a_stopped_node_is_left_and_its_episode_is_decided_elsewhere(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("lost")
    clustered.in_mid_attempt(process, "lost", thinker)
    lease = on_node(clustered, "lost", "node-b")
    clustered.cluster.stop_node("node-b")
    try:
        thinker.go()
        finishes(clustered, process, "lost")
    finally:
        clustered.cluster.start_node("node-b")
        clustered.cluster.wait_until_ready("node-b")
    was_tried_elsewhere(clustered, "lost", lease, Cause.NODE_LOST)
    clustered.delete("lost")


@long
def test_a_coordinator_whose_kubelet_is_gone_acknowledges_nothing_beside_its_successor(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    """It lives on, and its successor claims the run; a device that it had beside it is lost."""
    process = start("split", "--shared-storage")
    clustered.in_mid_attempt(process, "split", thinker)
    cluster, before = clustered.cluster, clustered.device_pods("split")
    old, claims = clustered.coordinator("split"), clustered.run_folder("split") / FOLDER
    node, first = old["spec"]["nodeName"], cluster.first_process(old, "coordinator")
    lost, living = (on_node(clustered, "split", name) for name in (node, other_node(node)))
    cluster.stop_node(node, kubelet_only=True)
    try:
        cluster.wait("a successor", (claims / "000002").exists, 180.0)
        assert cluster.first_process(old, "coordinator") == first
        status, said = clustered.ask_for_lease(old, "slot-09.1")
        assert status == 503, said
        assert "is run by another coordinator now" in said
        cluster.wait("its status", lambda: claim(clustered, "split") > 1)
        assert clustered.device_pods("split")[living.device] == before[living.device]
        thinker.go()
        finishes(clustered, process, "split")
    finally:
        cluster.start_node(node)
        cluster.wait_until_ready(node)
    # Who sees its end, and whether its Pod is still on record then, is open.
    was_tried_elsewhere(clustered, "split", lost, Cause.NODE_LOST, Cause.REMOVED)
    events = clustered.farm.events("split")
    kept = [e for e in events if isinstance(e, AttemptCommitted) and e.token == living.token]
    assert [e.device for e in kept] == [living.device]
    assert "slot-09.1" not in {e.device for e in events if isinstance(e, LeaseGranted)}
    assert living.device not in {e.device for e in events if isinstance(e, DeviceLost)}
    clustered.delete("split")


@long
def test_an_api_server_that_is_away_for_20_s_costs_nothing(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("away")
    clustered.in_mid_attempt(process, "away", thinker)
    before = clustered.device_pods("away")
    clustered.cluster.stop_api()
    try:
        thinker.go()
        time.sleep(20)  # the time that the API server is away is what is tested
    finally:
        clustered.cluster.start_api()
    finishes(clustered, process, "away")
    assert attempts(clustered, "away") == EPISODES
    leased = {e.device for e in clustered.farm.events("away") if isinstance(e, LeaseGranted)}
    assert leased == set(before)
    clustered.delete("away")


@long
def test_a_run_is_scaled_from_2_to_4_to_1(
    clustered: Clustered, thinker: Thinker, start: Start
) -> None:
    process = start("scaled", episodes=MOST_EPISODES)
    clustered.in_mid_attempt(process, "scaled", thinker)
    clustered.kubectl("scale", "fr/scaled", "--replicas=4")
    clustered.in_mid_attempt(process, "scaled", thinker, 2)
    assert len(clustered.device_pods("scaled")) == 4
    clustered.kubectl("scale", "fr/scaled", "--replicas=1")
    clustered.cluster.wait("three to be told", lambda: clustered.told_to_go("scaled") == 3)
    thinker.go_once()  # a worker gives its lease back once its agent has answered
    clustered.cluster.wait("one device", lambda: len(clustered.device_pods("scaled")) == 1)
    assert clustered.farm_run("scaled")["status"]["decided"] < MOST_EPISODES
    thinker.go()
    finishes(clustered, process, "scaled", MOST_EPISODES)
    assert attempts(clustered, "scaled") == MOST_EPISODES
    clustered.delete("scaled")


def claim(clustered: Clustered, name: str) -> int:
    """The number of the coordinator that wrote the status."""
    return int(clustered.farm_run(name)["status"].get("claim", 0))


def other_node(name: str) -> str:
    (other,) = set(NODES) - {name}
    return other


def on_node(clustered: Clustered, name: str, node: str) -> LeaseGranted:
    """One that is at work there; two devices are spread over two nodes."""
    for lease in clustered.open_leases(name):
        if clustered.pod(name, lease.device)["spec"]["nodeName"] == node:
            return lease
    raise AssertionError(f"no device of {name} is on {node}")


def finishes(
    clustered: Clustered, process: subprocess.Popen[str], name: str, episodes: int = EPISODES
) -> None:
    """Every episode is decided once, as in the quiet run; its evidence is here, whole."""
    code, output = ended(process)
    assert code == 0, output
    farm, events = clustered.farm, clustered.farm.events(name)
    decided = [e.episode for e in events if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == episodes
    for found, quiet in (
        (farm.outcomes(name), farm.outcomes(QUIET)), (farm.digests(name), farm.digests(QUIET)),
    ):  # fmt: skip
        assert found == {episode: quiet[episode] for episode in decided}, output
    for event in events:
        if isinstance(event, AttemptCommitted):
            assert manifest.verify(clustered.farm.runs / name / event.bundle) == []
    clustered.proves_itself(name)


def attempts(clustered: Clustered, name: str) -> int:
    return sum(isinstance(e, AttemptCommitted | AttemptLost) for e in clustered.farm.events(name))


def was_tried_elsewhere(
    clustered: Clustered, name: str, lease: LeaseGranted, *causes: Cause
) -> None:
    events = clustered.farm.events(name)
    ends = {
        e.attempt: e
        for e in events
        if isinstance(e, AttemptCommitted | AttemptLost) and e.episode == lease.episode
    }
    hit, next_one = ends[lease.attempt], ends[lease.attempt + 1]
    assert (str(hit.judgement.outcome), str(hit.judgement.blame)) == ("infra_failed", "infra")
    assert str(next_one.judgement.outcome) == "success"
    assert next_one.device != hit.device
    (lost,) = (e for e in events if isinstance(e, DeviceLost) and e.device == lease.device)
    assert lost.cause in causes, lost
