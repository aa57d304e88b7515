"""Whole runs on a real cluster: they complete, prove themselves, and leave nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from orchestrator.coordinator.transitions import EpisodeDecided, LeaseGranted
from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.locks import try_lock_folder
from tests.e2e.clustered import NAMESPACE, Clustered, make_farm_run
from tests.e2e.thinker import Thinker
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
PUBLIC, SMOKE = "cases/public", "cases/smoke"


def test_the_public_cases_run_on_four_devices_and_equal_a_local_run(clustered: Clustered) -> None:
    """Policies are enforced meanwhile."""
    chosen = ("--seed", "11", "--devices")
    with ThreadPoolExecutor(1) as beside:
        words = ("--backend", "local", *chosen, "2")
        here = beside.submit(clustered.farm.run, PUBLIC, *words, name="here")
        code, output = clustered.run(PUBLIC, *chosen, "4", name="public")
    assert code == 0, output
    assert set(clustered.farm.outcomes("public").values()) == {"success"}
    events = clustered.farm.events("public")
    decided = [e.episode for e in events if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 23
    slots = {e.device.partition(".")[0] for e in events if isinstance(e, LeaseGranted)}
    assert len(slots) == 4
    clustered.proves_itself("public")
    made_by = json.loads((clustered.farm.runs / "public" / "run_manifest.json").read_text())
    elsewhere = {"value": None, "why": "the run is on a cluster"}
    assert made_by["android"]["sdkmanager_version"] == elsewhere

    code, output = here.result()
    assert code == 0, output
    runs = clustered.farm.runs
    code, output = clustered.command(
        "reproduce", str(runs / "public"), "--against", str(runs / "here"), "--json"
    )
    assert code == 0, output
    assert '"same": true' in output

    clustered.cluster.wait("the pulled column", lambda: bool(status(clustered, "public")["pulled"]))
    head, line = clustered.kubectl("get", "fr", "public").splitlines()
    assert head.split() == ["NAME", "PHASE", "DONE", "SUCCESS", "INFRA", "DEVICES", "PULLED", "AGE"]
    assert line.split()[:-1] == ["public", "Complete", "23/23", "23", "0", "0", "true"]
    clustered.kubectl("wait", "--for=condition=Complete", "fr/public", "--timeout=5s")
    clustered.delete("public")


def status(clustered: Clustered, name: str) -> dict[str, object]:
    return dict(clustered.farm_run(name)["status"])


def test_a_detached_run_is_listed_watched_and_reported(clustered: Clustered) -> None:
    code, output = clustered.run(SMOKE, "--devices", "1", "--detach", name="detached")
    assert code == 0, output
    assert "emufarm runs watch detached" in output
    code, output = clustered.command("runs", "list", "--json", "--runs", str(clustered.farm.runs))
    assert code == 0, output
    assert ("detached", "emufarm") in {(one["name"], one["place"]) for one in json.loads(output)}
    code, output = clustered.command(
        "runs", "watch", "detached", "--runs", str(clustered.farm.runs)
    )
    assert code == 0, output
    assert set(clustered.farm.outcomes("detached").values()) == {"success"}
    clustered.proves_itself("detached")
    clustered.delete("detached")


def test_a_finished_run_is_pulled_again_from_its_volume(clustered: Clustered) -> None:
    """By somebody who has nothing of it, once its coordinator has left."""
    code, output = clustered.run(SMOKE, "--devices", "1", name="again")
    assert code == 0, output
    clustered.kubectl("wait", "--for=condition=Complete", "job/emufarm-again", "--timeout=180s")
    elsewhere = clustered.farm.runs.parent / "elsewhere"
    code, output = clustered.command("runs", "pull", "again", "--runs", str(elsewhere))
    assert code == 0, output
    assert "all of it" in output
    code, output = clustered.command("verify", str(elsewhere / "again"))
    assert code == 0, output
    clustered.delete("again")


def test_the_volume_goes_after_a_pull_where_it_was_asked_for(clustered: Clustered) -> None:
    code, output = clustered.run(SMOKE, "--devices", "1", "--keep", "1", name="kept")
    assert code == 0, output
    claim = "persistentvolumeclaim/emufarm-kept"
    clustered.cluster.wait("the end of its volume", lambda: claim not in clustered.left("kept"))
    assert clustered.farm_run("kept")["status"]["phase"] == "Complete"
    clustered.delete("kept")


def test_a_cancelled_run_ends_in_order_and_stays_pulled(clustered: Clustered) -> None:
    words = ("--devices", "1", "--repeats", "50", "--detach")
    code, output = clustered.run(SMOKE, *words, name="cancelled")
    assert code == 0, output
    cluster = clustered.cluster
    cluster.wait("a decision", lambda: bool(status(clustered, "cancelled").get("decided")))
    code, output = clustered.command("runs", "cancel", "cancelled")
    assert code == 0, output
    code, output = clustered.command(
        "runs", "watch", "cancelled", "--runs", str(clustered.farm.runs)
    )
    assert code == 20, output
    assert "Cancelled" in output
    now = status(clustered, "cancelled")
    assert (now["phase"], now["devices"]) == ("Cancelled", 0)
    assert clustered.device_pods("cancelled") == {}
    code, output = clustered.command("resume", str(clustered.farm.runs / "cancelled"))
    assert code == 2, output
    clustered.delete("cancelled")


def test_a_local_run_is_reproduced_on_the_cluster_as_equal(clustered: Clustered) -> None:
    code, output = clustered.farm.run(
        SMOKE, "--backend", "local", "--devices", "1", "--seed", "5", name="original"
    )
    assert code == 0, output
    place = str(clustered.farm.runs / "original")
    code, output = clustered.command(
        "reproduce", place, "--backend", "kubernetes", "--devices", "1", "--json"
    )
    assert code == 0, output
    assert '"same": true' in output
    clustered.delete("original-again-1")


def test_kubectl_has_the_group_of_commands_for_runs(clustered: Clustered) -> None:
    env = {**clustered.farm.env, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    make_farm_run(clustered.cluster, "by-plugin", *clustered.images)
    command = [str(clustered.cluster.layout.kubectl), "emufarm", "list", "--json"]
    place = ("--runs", str(clustered.farm.runs / "none"), "--namespace", NAMESPACE)
    done = subprocess.run(
        [*command, *place], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "by-plugin" in {one["name"] for one in json.loads(done.stdout)}
    clustered.delete("by-plugin")


@pytest.mark.kubernetes_long
def test_a_run_that_failed_is_resumed_in_place(clustered: Clustered) -> None:
    """Also while the coordinator that gave it up still serves it; its volume is kept for that."""
    words = (
        "--devices",
        "1",
        "--repeats",
        "12",
        "--pending-timeout",
        "10",
        "--keep",
        "1",
        "--detach",
    )
    code, output = clustered.run(SMOKE, *words, name="resumed")
    assert code == 0, output
    cluster = clustered.cluster
    cluster.wait("a decision", lambda: bool(status(clustered, "resumed").get("decided")))
    with no_more_pods(clustered):
        for device in clustered.device_pods("resumed"):
            clustered.kubectl("delete", "pod", names.device_object("resumed", device), "--force")
        cluster.wait("its failure", lambda: status(clustered, "resumed")["phase"] == "Failed")
    assert "exceeded quota" in str(status(clustered, "resumed")["message"])
    code, output = clustered.command("runs", "pull", "resumed", "--runs", str(clustered.farm.runs))
    assert code == 0, output
    code, output = clustered.command(
        "resume", str(clustered.farm.runs / "resumed"), "--devices", "2"
    )
    assert code == 0, output
    assert len(clustered.farm.outcomes("resumed")) == 12
    assert set(clustered.farm.outcomes("resumed").values()) == {"success"}
    clustered.proves_itself("resumed")
    assert clustered.farm_run("resumed")["spec"]["devices"] == 2
    clustered.delete("resumed")


@contextmanager
def no_more_pods(clustered: Clustered) -> Iterator[None]:
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "no-more", "namespace": NAMESPACE}, "spec": {"hard": {"pods": "0"}},
    }  # fmt: skip
    clustered.cluster.apply(quota)
    try:
        yield
    finally:
        clustered.kubectl("delete", "quota", "no-more")


def test_two_runs_side_by_side_never_meet(clustered: Clustered, patient_cases: Path) -> None:
    """Neither reaches the other's coordinator, and the end of one is none of the other."""
    runs = ("one", "other")
    with ExitStack() as listening:
        machine = clustered.cluster.machine_address
        agents = {
            name: listening.enter_context(Thinker(machine, 240.0).listening()) for name in runs
        }
        started = {
            name: clustered.start(
                str(patient_cases), "--devices", "1", "--agent", agent.url, name=name
            )
            for name, agent in agents.items()
        }
        leases = {
            name: clustered.in_mid_attempt(started[name], name, agent, count=1)
            for name, agent in agents.items()
        }
        pods = {name: clustered.pod(name, leases[name].device) for name in runs}
        places = {name: f"{clustered.coordinator(name)['status']['podIP']}:8080" for name in runs}
        for own, another in (runs, runs[::-1]):
            clustered.cluster.wait(
                "the policies", partial(is_kept_to, clustered, pods[own], places, own, another)
            )
        started["one"].kill()
        started["one"].communicate(timeout=60)
        clustered.delete("one")
        agents["other"].go()
        code, output = ended(started["other"])
    assert code == 0, output
    assert list(clustered.farm.outcomes("other").values()) == ["success"]
    assert {e.device for e in clustered.farm.events("other") if isinstance(e, LeaseGranted)} == {
        leases["other"].device
    }
    clustered.delete("other")


def is_kept_to(
    clustered: Clustered, pod: Json, places: dict[str, str], own: str, another: str
) -> bool:
    return clustered.reached(pod, "worker", places[own], places[another]) == [places[own]]


def test_two_commands_do_not_bring_one_run_to_one_folder(clustered: Clustered) -> None:
    code, output = clustered.run(SMOKE, "--devices", "1", "--detach", name="both")
    assert code == 0, output
    place = clustered.farm.runs / "both"
    with try_lock_folder(place):
        words = ("runs", "watch", "both", "--runs", str(clustered.farm.runs))
        code, output = clustered.command(*words)
    assert code == 2, output
    assert "another command brings this run" in output
    code, output = clustered.command(*words)
    assert code == 0, output
    clustered.delete("both")
